package words

import (
	"fmt"
	"math"
)

// Share is a part of a whole in per cent, with Wilson's interval of 95 %; "-" where there
// is no whole.
func Share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	low, high := Wilson(part, whole)
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*float64(part)/float64(whole), 100*low, 100*high)
}

// normal95 is how many standard deviations hold 95 % of a normal distribution.
const normal95 = 1.959963984540054

// Wilson is the interval in which a share lies with 95 % confidence. Unlike the usual
// approximation it says something of no hits in few trials.
func Wilson(part, whole int) (low, high float64) {
	const z = normal95
	n, p := float64(whole), float64(part)/float64(whole)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, middle-half), min(1, middle+half)
}

// AUC is the chance that one of n positive trials ranks above one of m negative ones,
// with the interval of 95 % of Hanley and McNeil; "-" where it is not known.
func AUC(area float64, n, m int) string {
	if area < 0 || n == 0 || m == 0 {
		return "-"
	}
	q1, q2 := area/(2-area), 2*area*area/(1+area)
	deviation := math.Sqrt((area*(1-area) + float64(n-1)*(q1-area*area) + float64(m-1)*(q2-area*area)) / (float64(n) * float64(m)))
	return fmt.Sprintf("%.3f (%.3f to %.3f)", area, max(0, area-normal95*deviation), min(1, area+normal95*deviation))
}
