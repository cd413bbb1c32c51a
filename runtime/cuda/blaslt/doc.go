// Package blaslt binds cuBLASLt, NVIDIA's library of matrix products, which is loaded at run time and
// need not be there.
//
// In: products of a plan, addresses of a GPU's memory. Out: the algorithms that the library offers
// for a product, and products enqueued to a stream of the driver.
//
// Constants and structures are those of cublasLt.h of CUDA 12.4; that of CUDA 13 has the same. The
// library counts matrices column by column, so a product is given to it transposed:
//
//	Outᵀ = Rightᵀ · Leftᵀ     a row-major matrix is its own transpose, column by column
//
// The invariants: sums are in f32 and factors never rounded (CUBLAS_COMPUTE_32F, which excludes
// TF32); of sums in several parts only those are offered that are added up in f32 and in a step of
// their own (CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE). What NVIDIA promises ("cuBLAS", Results
// Reproducibility) is then the same bits from the same version of the library, algorithm, kind of
// GPU and number of its multiprocessors, and nothing between versions.
//
// Package fakeblaslt is a library for tests.
//
// It imports internal/foreign and runtime/program.
package blaslt
