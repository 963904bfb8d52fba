package guardian

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"io"
	"io/fs"
	"os"

	"reeve.example/reeve/internal/regular"
)

// A member is a file in an archive.
type member struct {
	name string
	link bool
	text func() ([]byte, bool) // false where it cannot be read
}

// Bounds of what is read of the archives of one act: what stands behind them is not looked at.
const (
	maxMembers  = 1 << 16
	maxUnpacked = 32 << 20 // bytes that are compressed in them
	maxZipList  = 8 << 20  // bytes of a zip archive's list of what is in it, and of what is read of that
)

// inArchive gives each member of a zip or tar archive, also one that is compressed by gzip or bzip2. What is
// none has none.
func (e *examination) inArchive(file string, each func(*member)) {
	f, err := regular.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	if z, err := zip.NewReader(&boundedAt{f, maxZipList}, info.Size()); err == nil {
		for _, m := range z.File[:min(len(z.File), maxMembers)] {
			each(&member{m.Name, m.Mode()&fs.ModeSymlink != 0, func() ([]byte, bool) {
				r, err := m.Open()
				if err != nil {
					return nil, false
				}
				defer r.Close()
				return memberText(&bounded{r, &e.unpackedBytes})
			}})
		}
		return
	}
	t := tar.NewReader(e.uncompressed(f))
	for range maxMembers {
		h, err := t.Next()
		if err != nil {
			return
		}
		each(&member{h.Name, h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink, func() ([]byte, bool) { return memberText(t) }})
	}
}

// uncompressed reads a file as tar does: one that is not compressed it can skip in.
func (e *examination) uncompressed(f *os.File) io.Reader {
	head := make([]byte, 3)
	if _, err := f.ReadAt(head, 0); err != nil {
		return f
	}
	switch {
	case head[0] == 0x1f && head[1] == 0x8b:
		if z, err := gzip.NewReader(bufio.NewReader(f)); err == nil {
			return &bounded{z, &e.unpackedBytes}
		}
	case string(head) == "BZh":
		return &bounded{bzip2.NewReader(bufio.NewReader(f)), &e.unpackedBytes}
	}
	return f
}

// bounded reads no more than an act's archives may have.
type bounded struct {
	from io.Reader
	read *int
}

func (b *bounded) Read(p []byte) (int, error) {
	if *b.read >= maxUnpacked {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.from.Read(p)
	*b.read += n
	return n, err
}

// boundedAt is the same, of a file that is read here and there: a zip archive is listed before anybody can count.
type boundedAt struct {
	from io.ReaderAt
	left int
}

func (b *boundedAt) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return b.from.ReadAt(p, at)
}

// memberText is what can be read, unless it is more than a file of settings may have.
func memberText(r io.Reader) ([]byte, bool) {
	text, err := io.ReadAll(io.LimitReader(r, maxSetting+1))
	return text, err == nil && len(text) <= maxSetting
}
