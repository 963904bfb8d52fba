// Command image makes the image of a release from the programs that goreleaser built: an
// archive of the OCI form, which podman, skopeo and crane read, and, with -push, the same in
// a registry. Nothing runs in the image while it is made, so neither Docker nor another
// platform's processor is needed; the same programs give the same image, byte by byte.
//
//	go run ./image -dist ../dist -version 1.2.0 -o ../dist/reeve_1.2.0_image.tar
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	var r release
	flag.StringVar(&r.dist, "dist", "../dist", "what goreleaser built")
	flag.StringVar(&r.certificates, "certificates", "/etc/ssl/certs/ca-certificates.crt", "of public authorities (PEM)")
	flag.StringVar(&r.version, "version", "", "of the release")
	flag.StringVar(&r.revision, "revision", "", "commit that it was built from")
	made := flag.Int64("time", 0, "of that commit, in Unix seconds")
	out := flag.String("o", "", "archive to write")
	push := flag.String("push", "", "name in a registry to push to, too, such as ghcr.io/owner/reeve:1.2.0; prints its digest")
	flag.Parse()
	r.made = time.Unix(*made, 0).UTC()
	if err := r.publish(*out, *push); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// release is what the images of one release are made of.
type release struct {
	dist, certificates, version, revision string
	made                                  time.Time
}

func (r *release) publish(out, push string) error {
	index, err := r.index("amd64", "arm64")
	if err != nil {
		return err
	}
	if out != "" {
		if err := r.archive(index, out); err != nil {
			return err
		}
	}
	if push == "" {
		return nil
	}
	to, err := name.ParseReference(push)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err == nil {
		fmt.Println(to.Context().Digest(digest.String()))
	}
	return err
}

// config is how the programs are started. They run as a user without a name and write
// nowhere but in their volume, so the root can be read-only.
func (r *release) config() v1.Config {
	return v1.Config{
		User:         fmt.Sprintf("%d:%d", nobody, nobody),
		Env:          []string{"PATH=/usr/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "HOME=/home/nonroot", "REEVE_DATA=/home/nonroot/reeve", "REEVE_LISTEN=0.0.0.0:8080", "REEVE_LOG_FORMAT=json"},
		Entrypoint:   []string{"/usr/bin/reeve"},
		Cmd:          []string{"serve"},
		WorkingDir:   "/home/nonroot",
		Volumes:      map[string]struct{}{"/home/nonroot": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "reeve", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.revision, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
}

// nobody is the user that the programs run as.
const nobody = 65532

// root writes the files of the image: two static programs, the certificates, and no shell.
func (r *release) root(w *tar.Writer, arch string) error {
	var errs []error
	folder := func(name string, mode int64, owner int) {
		errs = append(errs, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: owner, Gid: owner, ModTime: r.made}))
	}
	file := func(name string, mode int64, content []byte) {
		errs = append(errs, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: r.made}))
		_, err := w.Write(content)
		errs = append(errs, err)
	}
	certificates, err := os.ReadFile(r.certificates)
	if err != nil {
		return err
	}
	folder("etc/", 0o755, 0)
	file("etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/none\nnonroot:x:%d:%[1]d:nonroot:/home/nonroot:/none\n", nobody))
	file("etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nobody))
	folder("etc/ssl/", 0o755, 0)
	folder("etc/ssl/certs/", 0o755, 0)
	file("etc/ssl/certs/ca-certificates.crt", 0o644, certificates)
	folder("home/", 0o755, 0)
	folder("home/nonroot/", 0o700, nobody) // a new volume on it gets its owner
	folder("tmp/", 0o1777, 0)
	folder("usr/", 0o755, 0)
	folder("usr/bin/", 0o755, 0)
	for _, program := range []string{"reeve", "reeve-hook"} {
		found, err := filepath.Glob(filepath.Join(r.dist, fmt.Sprintf("%s_linux_%s*", program, arch), program))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%d programs %s for linux/%s are in %s", len(found), program, arch, r.dist)
		}
		content, err := os.ReadFile(found[0])
		if err != nil {
			return err
		}
		file("usr/bin/"+program, 0o755, content)
	}
	return errors.Join(errs...)
}

func (r *release) image(arch string) (v1.Image, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	if err := errors.Join(r.root(w, arch), w.Close()); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	made := v1.Time{Time: r.made}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: made, Config: r.config(), RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	image = mutate.MediaType(mutate.ConfigMediaType(image, types.OCIConfigJSON), types.OCIManifestSchema1)
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: made, CreatedBy: "reeve deploy/image"}})
}

// index is the image of each platform under one name.
func (r *release) index(processors ...string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range processors {
		image, err := r.image(arch)
		if err != nil {
			return nil, fmt.Errorf("linux/%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return index, nil
}

// archive writes an index as one file, in the order of its names.
func (r *release) archive(index v1.ImageIndex, out string) error {
	dir, err := os.MkdirTemp("", "reeve-image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	whole := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: index, Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}},
	})
	if _, err := layout.Write(dir, whole); err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: r.made})
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: r.made}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	return errors.Join(err, w.Close(), f.Close())
}
