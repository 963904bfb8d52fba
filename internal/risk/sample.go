package risk

import (
	"slices"
	"strings"
)

// sampleWeight is what a finding weighs that is known to be an example: it is
// found and masked as any other, and a rule that asks for a severity leaves it be.
const sampleWeight = 0.3

// sampleCards are the numbers with which payment services have people test.
var sampleCards = strings.Fields(`
	4242424242424242 4000056655665556 4111111111111111 4012888888881881 4000000000000002 4000000000000077
	4000000000003220 4000000000009995 4000000000000069 4000000000000127 4000000000000119 4000002500003155
	4222222222222 4012000033330026 4005519200000004 4009348888881881 4917610000000000 4000000000000010
	5555555555554444 5105105105105100 5200828282828210 5454545454545454 5555341244441115 2223003122003222 2223000048400011
	378282246310005 371449635398431 378734493671000 370000000000002 6011111111111117 6011000990139424 6011000000000004
	3530111333300000 3566002020360505 3056930009020004 36227206271667 30569309025904 38520000023237 36148900647913
	6200000000000005 6205500000000000004 6759649826438453 6304000000000000`)

// sampleSSNs were printed in advertisements, or are given out for tests.
var sampleSSNs = strings.Fields("078051120 219099999 123456789 111111111 457555462 987654321")

// sampleSignatures are those of the tokens that pages about JSON web tokens show.
var sampleSignatures = strings.Fields(`
	SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c KMUFsIDTnFmyG3nMiGM6H9FNFUROf3wh7SmqJp-QV30
	TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ dyt0CoTl4WoVjAHI9Q_CwSKhl6d_9rhM3NrXuJttkao
	XbPfbIHMI6arZ3Y922BhjWgQzWXcXNrz0ogtVhfEd2o`)

// samplePasswords are what databases of a developer's own machine have as passwords.
var samplePasswords = wordList("postgres root admin guest test testing demo dev local minioadmin rabbitmq mysql mongo redis hunter2 letmein 1234 12345 123456")

// unlessSample is the weight of a key, less where it says of itself that it is an example,
// or is of a payment service's test mode, in which no money moves.
func unlessSample(key string, weight float64) float64 {
	if sample(key) || strings.HasPrefix(key, "sk_test_") || strings.HasPrefix(key, "rk_test_") {
		return sampleWeight
	}
	return weight
}

// sample reports whether a key says of itself that it is none, as those of
// documentation do.
func sample(key string) bool {
	key = strings.ToUpper(key)
	return strings.Contains(key, "EXAMPLE") || strings.Contains(key, "XXXXXX") || strings.Contains(key, "PLACEHOLDER") ||
		strings.Contains(key, "0123456789") || strings.Contains(key, "ABCDEFGHIJ")
}

// sampleNumber reports whether digits, given as values, are those of a known sample.
func sampleNumber(known []string, digits []byte) bool {
	var number [20]byte
	for i, d := range digits {
		number[i] = '0' + d
	}
	return slices.Contains(known, string(number[:len(digits)]))
}
