package evidence

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"io"
)

// Signatures and sizes of what a ZIP archive is made of (APPNOTE 6.3.10, section 4.3).
const (
	localSignature     = 0x04034b50
	directorySignature = 0x02014b50
	end64Signature     = 0x06064b50
	endSignature       = 0x06054b50

	localSize        = 30
	descriptorSize   = 16 // with its signature
	descriptor64Size = 24
	directorySize    = 46
	end64Size        = 56 + 20 // with what says where it is
	endSize          = 22

	hasDescriptor = 1 << 3
)

var errLayout = errors.New("the archive has something before, between or behind its files, or a file by two names")

// onlyFiles checks that an archive has its files one behind the other and nothing else, each by one name: who reads
// it from its beginning finds no file that who reads its directory does not.
func onlyFiles(r io.ReaderAt, size int64, files []*zip.File) error {
	at := int64(0)
	header := func(n int) []byte {
		b := make([]byte, n)
		if _, err := r.ReadAt(b, at); err != nil {
			return make([]byte, n)
		}
		return b
	}
	is := func(b []byte, signature uint32) bool { return binary.LittleEndian.Uint32(b) == signature }
	for _, f := range files {
		h := header(localSize + len(f.Name))
		data := at + localSize + int64(binary.LittleEndian.Uint16(h[26:])) + int64(binary.LittleEndian.Uint16(h[28:]))
		offset, err := f.DataOffset()
		if err != nil || offset != data || !is(h, localSignature) || int(binary.LittleEndian.Uint16(h[26:])) != len(f.Name) || string(h[localSize:]) != f.Name {
			return errLayout
		}
		at = data + int64(f.CompressedSize64)
		if f.Flags&hasDescriptor != 0 {
			at += descriptorSize
			if max(f.CompressedSize64, f.UncompressedSize64) >= 1<<32-1 {
				at += descriptor64Size - descriptorSize
			}
		}
	}
	for range files {
		h := header(directorySize)
		if !is(h, directorySignature) {
			return errLayout
		}
		at += directorySize + int64(binary.LittleEndian.Uint16(h[28:])) + int64(binary.LittleEndian.Uint16(h[30:])) + int64(binary.LittleEndian.Uint16(h[32:]))
	}
	if is(header(4), end64Signature) {
		at += end64Size
	}
	if !is(header(endSize), endSignature) || at+endSize != size {
		return errLayout
	}
	return nil
}
