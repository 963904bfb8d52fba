package policy

// Edited is what tests of the doors compare with their own reading.
var Edited = edited
