package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A folder of this machine may be another's: one that is mounted from elsewhere, or that a service keeps the same on
// others. What is put there others may have.

// mountsElsewhere are programs that mount what lies elsewhere, behind whose options the folder stands last, and
// mountsOf those that do it by this subcommand.
var (
	mountsElsewhere = set("sshfs curlftpfs ftpfs s3fs gcsfuse goofys mount-s3 geesefs blobfuse blobfuse2 davfs2 mount.davfs mount.nfs mount.nfs4 mount.cifs mount.smb3 mount.smbfs mount.ceph mount.glusterfs mount_nfs mount_smbfs mount_webdav mount_ftp glusterfs ceph-fuse hubicfuse google-drive-ocamlfuse onedriver")
	mountsOf        = map[string]string{"rclone": "mount mount2 cmount nfsmount", "juicefs": "mount"}
	// mountedTypes are the file systems of other machines, and mountValues options whose value is the next word.
	mountedTypes = set("nfs nfs4 cifs smb3 smbfs smb davfs webdav fuse.sshfs sshfs 9p ceph glusterfs afs fuse.rclone rclone s3fs fuse.s3fs")
)

const mountValues = "-o -O -t --types --options -p -F -U -L --label --uuid --source --target --vfs-cache-mode --config --cache-dir --bucket"

// mounts remembers the folders that the command mounts from elsewhere.
func (c *invocation) mounts() {
	of, verbs := mountsOf[c.name]
	if !mountsElsewhere[c.name] && !verbs && c.name != "mount" {
		return
	}
	var words []string
	elsewhere := mountsElsewhere[c.name]
	for i := 0; i < len(c.args); i++ {
		switch option, value, joined := strings.Cut(c.args[i].text, "="); {
		case !strings.HasPrefix(option, "-"):
			words = append(words, c.args[i].text)
		case listed(mountValues, option):
			if !joined && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			}
			elsewhere = elsewhere || listed("-t --types", option) && mountedTypes[value]
		}
	}
	if len(words) > 0 && verbs {
		elsewhere, words = listed(of, words[0]), words[1:]
	}
	if len(words) < 2 {
		return
	}
	if elsewhere = elsewhere || strings.Contains(words[0], ":/") || strings.HasPrefix(words[0], "//"); elsewhere && len(c.mounted) < maxMounts {
		c.mounted = append(c.mounted, c.seenFrom(words[len(words)-1]))
	}
}

// seenFrom is a path as places are known by from one call to the next: from the home folder or the root, where that
// can be told.
func (a *assessor) seenFrom(p string) string {
	if q := a.from(p); q != "" {
		p = q
	}
	return strings.TrimSuffix(normalPath(strings.TrimSuffix(p, "/")).text, "/")
}

// sharedFolders are where the services that keep a folder the same on several machines have it, and what is mounted
// without a command of its own.
var sharedFolders = lazyregexp.New(`(?i)^(?:~|/mnt/[a-z]/users/[^/]+|[a-z]:/users/[^/]+)/(?:dropbox[^/]*|google ?drive[^/]*|my drive|onedrive[^/]*|nextcloud|owncloud|box(?: sync)?|mega(?:sync)?|pcloud ?drive|icloud ?drive[^/]*|proton ?drive[^/]*|seafile|library/mobile documents|library/cloudstorage)(?:/|$)|^/volumes/google ?drive(?:/|$)|^/run/user/\d+/(?:gvfs|kio-fuse[^/]*)/|^//[^/]`)

// laysOut judges that a secret is put into a place, which others may have.
func (s *shell) laysOut(p string) {
	place := s.seenFrom(p)
	switch {
	case s.other:
	case sharedFolders.MatchString(place) && !s.inOwnFolder(place), slices.ContainsFunc(FoldersOf(place), func(dir string) bool { return slices.Contains(s.mounted, dir) }):
		s.reportSaying("exfil.secret", laidOut, s.at, "A secret is put into a folder that other machines have, too.")
	case len(s.laid) < maxMounts && place != "":
		s.laid = append(s.laid, place)
	}
}

// laidOut is how grave it is that a secret is put where others may have it: somebody is asked.
const laidOut = 0.6

// FoldersOf are a place and the folders that it lies in.
func FoldersOf(place string) (dirs []string) {
	for dir := place; dir != "." && dir != "/" && dir != "" && len(dirs) < maxDeep; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// LaidIn is the finding that a call puts a secret into a folder that an earlier one mounted from elsewhere.
func LaidIn(folder string) Finding {
	t := Default().effects["exfil.secret"]
	return Finding{Beside: true, Code: "exfil.secret", Category: t.category, Technique: t.technique, Weight: laidOut,
		Message: "The call puts a secret into " + folder + ", which this session mounted from another machine."}
}
