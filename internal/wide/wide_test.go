package wide

import (
	"math"
	"math/big"
	"testing"
)

// TestAsBig: results are those of numbers of any size, up to the largest int64.
func TestAsBig(t *testing.T) {
	sizes := []int64{0, 1, 3, 1 << 24, 1<<24 - 1, 1 << 52, 1<<55 + 5, math.MaxInt64}
	most := big.NewInt(math.MaxInt64)
	limited := func(x *big.Int) int64 {
		if x.Cmp(most) > 0 {
			return math.MaxInt64
		}
		return x.Int64()
	}
	for _, a := range sizes {
		for _, b := range sizes {
			product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
			if got, want := Mul(a, b), limited(product); got != want {
				t.Errorf("Mul(%d, %d) is %d, want %d", a, b, got, want)
			}
			if got, want := Add(a, b), limited(new(big.Int).Add(big.NewInt(a), big.NewInt(b))); got != want {
				t.Errorf("Add(%d, %d) is %d, want %d", a, b, got, want)
			}
			for _, c := range sizes[1:] {
				if got, want := MulDiv(a, b, c), limited(new(big.Int).Div(product, big.NewInt(c))); got != want {
					t.Errorf("MulDiv(%d, %d, %d) is %d, want %d", a, b, c, got, want)
				}
			}
		}
	}
}
