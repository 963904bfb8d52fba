package hook

import "os"

// changed is empty: Windows has no such time that is read as easily.
func changed(*os.File) string { return "" }
