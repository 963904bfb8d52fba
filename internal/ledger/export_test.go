package ledger

// SmallSegments makes segments of 8, 32 and 128 records, until the function that it returns
// is called.
func SmallSegments() (restore func()) {
	was := segmentBits
	segmentBits = [...]uint{3, 5, 7}
	return func() { segmentBits = was }
}
