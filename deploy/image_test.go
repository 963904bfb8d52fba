package deploy

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImage: the image of a release has two static programs and what they need, and nothing
// else; it runs as a user without a name, on a root that cannot be written.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	unpack(t, one(t, dist(t), "reeve_*_image.tar"), dir)
	whole, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := whole.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	index, err := whole.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range manifest.Manifests {
		seen[m.Platform.String()] = true
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		looked(t, image, root, m.Platform.Architecture)
		if m.Platform.Architecture == runtime.GOARCH {
			t.Run("runs", func(t *testing.T) { runs(t, image, root) })
		}
	}
	if !seen["linux/amd64"] || !seen["linux/arm64"] || len(seen) != 2 {
		t.Errorf("the image is for %v", seen)
	}
}

// unpack reads an archive that was made here.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files(t, f, func(h *tar.Header, r io.Reader) {
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o755)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(name, content, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

func files(t *testing.T, r io.Reader, f func(*tar.Header, io.Reader)) {
	t.Helper()
	for r := tar.NewReader(r); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f(h, r)
	}
}

// looked looks at one platform's image, and writes its files to root.
func looked(t *testing.T, image v1.Image, root, arch string) {
	t.Helper()
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.OS != "linux" || c.Architecture != arch || c.Config.User != "65532:65532" || strings.Join(c.Config.Entrypoint, " ") != "/usr/bin/reeve" {
		t.Errorf("%+v", c)
	}
	content := mutate.Extract(image)
	defer content.Close()
	var names []string
	files(t, content, func(h *tar.Header, r io.Reader) {
		h.Name = strings.TrimSuffix(h.Name, "/")
		names = append(names, h.Name)
		if h.Mode&0o6000 != 0 || h.Mode&0o022 != 0 && h.Name != "tmp" || h.Uid != 0 && h.Name != "home/nonroot" {
			t.Errorf("%s has the mode %o and is of %d", h.Name, h.Mode, h.Uid)
		}
		name := filepath.Join(root, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o755)
		} else {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(name, text, os.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(h.Name, "usr/bin/") && h.Typeflag == tar.TypeReg {
			built(t, name, "linux", arch)
		}
	})
	want := []string{
		"etc", "etc/passwd", "etc/group", "etc/ssl", "etc/ssl/certs", "etc/ssl/certs/ca-certificates.crt",
		"home", "home/nonroot", "tmp", "usr", "usr/bin", "usr/bin/reeve", "usr/bin/reeve-hook",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the image's files (-want +got):\n%s", diff)
	}
}

// runs starts the node as a runtime would, with a root that cannot be written, and asks it
// from outside.
func runs(t *testing.T, image v1.Image, root string) {
	needs(t, "unshare", "setpriv", "curl", "ip")
	needsRoot(t)
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append([]string{
		"--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-ec", contained, "sh", root, strings.SplitN(c.Config.User, ":", 2)[0],
	}, append(append([]string{}, c.Config.Entrypoint...), c.Config.Cmd...)...)...)
	cmd.Env = append(c.Config.Env, "REEVE_ANONYMOUS=never")
	cmd.Env[0] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin" // of the programs that start it
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"status":"ready"`, "401", "the root cannot be written"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("not in the output: %s\n%s", want, out)
		}
	}
}

const contained = `
root=$1 user=$2
shift 2
ip link set lo up
mount --bind "$root" /mnt # every user may pass there
root=/mnt
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=700,uid=$user,gid=$user home "$root/home/nonroot"
mount -t tmpfs tmp "$root/tmp"
touch "$root/etc/x" 2>/dev/null || echo "the root cannot be written"
chroot "$root" /usr/bin/reeve version
# setpriv is not in there, so the user is changed before the root is.
setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --bounding-set=-all,+sys_chroot --inh-caps=-all,+sys_chroot --ambient-caps=-all,+sys_chroot \
	chroot "$root" "$@" &
node=$!
for _ in $(seq 100); do
	curl -sf http://127.0.0.1:8080/readyz && break
	kill -0 $node
	sleep 0.1
done
curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080 -H 'Content-Type: application/json' -d '{}'
kill $node
wait $node
`
