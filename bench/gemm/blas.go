package main

import (
	"fmt"

	"ptc/internal/foreign"
	"ptc/runtime/native"
)

// blas is sgemm of a library with the C interface.
type blas struct {
	narrow  func(order, ta, tb, m, n, k int32, alpha float32, a uintptr, lda int32, b uintptr, ldb int32, beta float32, c uintptr, ldc int32)
	wide    func(order, ta, tb, m, n, k int64, alpha float32, a uintptr, lda int64, b uintptr, ldb int64, beta float32, c uintptr, ldc int64)
	threads func(int32)
}

// openBLAS loads a library by path: its sgemm under the name of the C interface,
// of OpenBLAS with 64-bit integers, or with the prefix of the builds for Python.
func openBLAS(path string) (*blas, error) {
	lib, err := foreign.Open(path, foreign.Now|foreign.Global)
	if err != nil {
		return nil, err
	}
	for _, prefix := range []string{"", "scipy_"} {
		for _, suffix := range []string{"", "64_"} {
			addr, err := foreign.Symbol(lib, prefix+"cblas_sgemm"+suffix)
			if err != nil {
				continue
			}
			b := &blas{}
			if suffix == "" {
				foreign.Bind(&b.narrow, addr)
			} else {
				foreign.Bind(&b.wide, addr)
			}
			for _, name := range []string{prefix + "openblas_set_num_threads" + suffix, "MKL_Set_Num_Threads"} {
				if addr, err := foreign.Symbol(lib, name); err == nil {
					foreign.Bind(&b.threads, addr)
					return b, nil
				}
			}
			return nil, fmt.Errorf("%s: no function sets its number of threads", path)
		}
	}
	return nil, fmt.Errorf("%s: no cblas_sgemm", path)
}

// run computes s from left and right to out.
func (b *blas) run(s shape, left, right, out []byte) {
	const rowMajor, plain, transposed = 101, 111, 112
	ta, tb, lda, ldb := int64(plain), int64(plain), s.k, s.n
	if s.form[0] == 'T' {
		ta, lda = transposed, s.m
	}
	if s.form[1] == 'T' {
		tb, ldb = transposed, s.k
	}
	for i := range s.batch {
		a, w, c := native.Address(left[4*i*s.m*s.k:]), native.Address(right[4*i*s.k*s.n:]), native.Address(out[4*i*s.m*s.n:])
		if b.wide != nil {
			b.wide(rowMajor, ta, tb, s.m, s.n, s.k, 1, a, lda, w, ldb, 0, c, s.n)
			continue
		}
		b.narrow(rowMajor, int32(ta), int32(tb), int32(s.m), int32(s.n), int32(s.k), 1, a, int32(lda), w, int32(ldb), 0, c, int32(s.n))
	}
}
