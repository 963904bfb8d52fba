package links

import "io/fs"

// identity is not told here without opening the file.
func identity(fs.FileInfo) string { return "" }
