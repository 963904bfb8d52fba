package sandbox

import "io/fs"

// allocated is how much of the disk a file takes.
func allocated(info fs.FileInfo) (int64, fileID) { return info.Size(), fileID{} }
