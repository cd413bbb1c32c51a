package exec

import "math"

// quantile is the inverse of the standard normal distribution function, for u
// in [2^-33, 1-2^-33]: algorithm AS 241 (PPND16) of Wichura, "The Percentage
// Points of the Normal Distribution", Applied Statistics 37 (1988), whose
// relative error is about 1e-16. Its coefficients for u below exp(-25) are not
// needed.
//
// Every product that is added to is converted first, and the logarithm is
// logarithm below: so the result has the same bits on processors that would
// fuse the two, and with any library.
func quantile(u float64) float64 {
	q := u - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * poly(&centralNum, r) / poly(&centralDen, r)
	}
	tail := u
	if q > 0 {
		tail = 1 - u
	}
	r := math.Sqrt(-logarithm(tail)) - 1.6
	x := poly(&tailNum, r) / poly(&tailDen, r)
	if q < 0 {
		return -x
	}
	return x
}

// Coefficients of the rational approximations, from the constant on.
var (
	centralNum = [8]float64{
		3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3}
	centralDen = [8]float64{
		1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}
	tailNum = [8]float64{
		1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4}
	tailDen = [8]float64{
		1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}
)

// poly is a polynomial of degree 7 by Horner's rule.
func poly(c *[8]float64, x float64) float64 {
	p := c[7]
	for i := 6; i >= 0; i-- {
		p = float64(p*x) + c[i]
	}
	return p
}

// logarithm is the natural logarithm of a positive normal number, to about 1e-15:
// x = m 2^k with m in [√½, √2), and ln m = 2 artanh(s), s = (m-1)/(m+1), whose
// series in s² of at most 0.0295 ends here at s²¹.
func logarithm(x float64) float64 {
	m, k := math.Frexp(x) // m in [½, 1)
	if m < math.Sqrt2/2 {
		m *= 2
		k--
	}
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	sum := 0.0
	for i := len(artanh) - 1; i >= 0; i-- {
		sum = float64((sum + artanh[i]) * z)
	}
	return float64(float64(k)*math.Ln2) + float64(2*s*(1+sum))
}

// artanh is the series of artanh(s)/s - 1 in s².
var artanh = [10]float64{1. / 3, 1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19, 1. / 21}
