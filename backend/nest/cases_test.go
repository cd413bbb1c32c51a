package nest

import "ptc/ir/fusion"

// cases are kernels of each class: orders of axes, sizes of one, tails, dtypes.
var cases = []struct {
	name  string
	class fusion.Class
	text  string
}{
	{"map chain", fusion.Map, `func @k class=kernel
  arg %0 : f32[a=5, b=37] in
  arg %1 : f32[b=37] in
  arg %2 : f32[] in
  %3 : f32[a=5, b=37] = add %0, %1
  %4 : f32[a=5, b=37] = mul %3, %2
  %5 : f32[a=5, b=37] = tanh %4
  %6 : f32[a=5, b=37] = div %5, %1
  result %4 out
  result %6 out
end
`},
	{"map transposed", fusion.Map, `func @k class=kernel
  arg %0 : f32[a=5, b=37, c=3] in
  %1 : f32[c=3, a=5, b=37] = transpose %0 order=(c, a, b)
  %2 : f32[c=3, a=5, b=37] = neg %1
  result %2 out
end
`},
	{"map copy of a view", fusion.Map, `func @k class=kernel
  arg %0 : f32[a=6, b=35] in
  %1 : f32[a=6, b1=7, b2=5] = split %0 axis=b into={b1=7, b2=5}
  %2 : f32[b2=5, a=6, b1=7] = transpose %1 order=(b2, a, b1)
  %3 : f32[b2=5, a=4, b1=7] = slice %2 axis=a limit=5 start=1
  %4 : f32[b2=5, a=4, b1=7] = cast %3 to=f32
  result %4 out
end
`},
	{"map flat large", fusion.Map, `func @k class=kernel
  arg %0 : f32[a=70, b=131] in
  arg %1 : f32[a=70, b=131] in
  %2 : f32[a=70, b=131] = mul %0, %1
  %3 : f32[a=70, b=131] = sqrt %2
  result %3 out
end
`},
	{"map scalar", fusion.Map, `func @k class=kernel
  arg %0 : f32[] in
  arg %1 : i32[] in
  %2 : f32[] = cast %1 to=f32
  %3 : f32[] = pow %0, %2
  %4 : f32[] = const dtype=f32 value=0.25
  %5 : f32[] = min %3, %4
  result %5 out
end
`},
	{"map size one", fusion.Map, `func @k class=kernel
  arg %0 : f32[a=1, b=3, c=1] in
  %1 : f32[a=1, b=3, c=1] = exp %0
  result %1 out
end
`},
	{"map index and mask", fusion.Map, `func @k class=kernel
  arg %0 : f32[a=3, b=18, c=19] in
  %1 : i32[b=18] = index axis=b size=18
  %2 : i32[c=19] = index axis=c size=19
  %3 : bool[b=18, c=19] = ge %1, %2
  %4 : f32[] = const dtype=f32 value=-inf
  %5 : f32[a=3, b=18, c=19] = select %3, %0, %4
  %6 : i32[b=18, c=19] = mod %1, %2
  %7 : f32[b=18, c=19] = cast %6 to=f32
  %8 : f32[a=3, b=18, c=19] = max %5, %7
  result %8 out
end
`},
	{"map bool and ints", fusion.Map, `func @k class=kernel
  arg %0 : bool[a=5, b=21] in
  arg %1 : i32[a=5, b=21] in
  arg %2 : i32[b=21] in
  %3 : bool[a=5, b=21] = lt %1, %2
  %4 : bool[a=5, b=21] = and %0, %3
  %5 : bool[a=5, b=21] = not %4
  %6 : i32[a=5, b=21] = mul %1, %2
  %7 : i32[a=5, b=21] = select %5, %6, %1
  result %5 out
  result %7 out
end
`},
	{"map bf16", fusion.Map, `func @k class=kernel
  arg %0 : bf16[a=5, b=21] in
  arg %1 : f32[b=21] in
  %2 : f32[a=5, b=21] = cast %0 to=f32
  %3 : f32[a=5, b=21] = mul %2, %1
  %4 : bf16[a=5, b=21] = cast %3 to=bf16
  %5 : bf16[a=5, b=21] = add %4, %0
  result %4 out
  result %5 out
end
`},
	{"map f16", fusion.Map, `func @k class=kernel
  arg %0 : f16[a=5, b=21] in
  %1 : f16[a=5, b=21] = mul %0, %0
  result %1 out
end
`},
	{"map random", fusion.Map, `func @k class=kernel
  arg %0 : i32[] in
  arg %1 : i32[] in
  %2 : f32[a=3, b=21] = random %0, %1 axes={a=3, b=21} dist=uniform site=5
  %3 : f32[a=3, b=21] = random %0, %1 axes={a=3, b=21} dist=normal site=4294967299
  result %2 out
  result %3 out
end
`},
	{"map gather rows", fusion.Map, `func @k class=kernel
  arg %0 : f32[v=10, e=21] in
  arg %1 : i32[b=3, s=7] in
  %2 : f32[b=3, s=7, e=21] = gather %0, %1 axis=v
  %3 : f32[b=3, s=7, e=21] = add %2, %2
  result %3 out
end
`},
	{"map gather lanes", fusion.Map, `func @k class=kernel
  arg %0 : f32[b=3, v=10] in
  arg %1 : i32[b=3, s=19] in
  %2 : f32[b=3, s=19] = gather %0, %1 axis=v
  result %2 out
end
`},
	{"row softmax", fusion.Row, `func @k class=kernel
  arg %0 : f32[a=3, b=5, c=67] in
  %1 : f32[a=3, b=5] = reduce_max %0 over=(c)
  %2 : f32[a=3, b=5, c=67] = sub %0, %1
  %3 : f32[a=3, b=5, c=67] = exp %2
  %4 : f32[a=3, b=5] = reduce_sum %3 over=(c)
  %5 : f32[a=3, b=5, c=67] = div %3, %4
  result %1 out
  result %5 out
end
`},
	{"row long", fusion.Row, `func @k class=kernel
  arg %0 : f32[a=2, c=1003] in
  arg %1 : f32[c=1003] in
  %2 : f32[a=2, c=1003] = mul %0, %1
  %3 : f32[a=2] = reduce_sum %2 over=(c)
  %4 : f32[a=2] = sqrt %3
  %5 : f32[a=2, c=1003] = div %0, %4
  %6 : f32[a=2] = reduce_max %5 over=(c)
  result %5 out
  result %6 out
end
`},
	{"row two axes", fusion.Row, `func @k class=kernel
  arg %0 : f32[a=3, b=5, c=7] in
  arg %1 : f32[a=3, b=5] in
  %2 : f32[a=3, b=5, c=7] = mul %0, %1
  %3 : f32[a=3] = reduce_sum %2 over=(b, c)
  %4 : f32[] = const dtype=f32 value=2.0
  %5 : f32[a=3] = mul %3, %4
  result %5 out
end
`},
	{"row outer and inner", fusion.Row, `func @k class=kernel
  arg %0 : f32[b=5, a=3, c=7] in
  %1 : f32[a=3] = reduce_sum %0 over=(b, c)
  %2 : f32[b=5, a=3, c=7] = sub %0, %1
  result %2 out
end
`},
	{"row to scalar", fusion.Row, `func @k class=kernel
  arg %0 : f32[a=3, b=50] in
  %1 : f32[a=3, b=50] = mul %0, %0
  %2 : f32[] = reduce_sum %1 over=(a, b)
  %3 : f32[] = sqrt %2
  result %3 out
end
`},
	{"row of one", fusion.Row, `func @k class=kernel
  arg %0 : f32[a=3, b=1] in
  %1 : f32[a=3] = reduce_sum %0 over=(b)
  %2 : f32[a=3, b=1] = div %0, %1
  result %2 out
end
`},
	{"row bf16", fusion.Row, `func @k class=kernel
  arg %0 : bf16[a=3, c=67] in
  %1 : f32[a=3, c=67] = cast %0 to=f32
  %2 : f32[a=3] = reduce_sum %1 over=(c)
  %3 : f32[a=3, c=67] = div %1, %2
  %4 : bf16[a=3, c=67] = cast %3 to=bf16
  result %4 out
end
`},
	{"column", fusion.Column, `func @k class=kernel
  arg %0 : f32[a=9, b=5, c=67] in
  arg %1 : f32[a=9, b=5] in
  %2 : f32[a=9, b=5, c=67] = mul %0, %1
  %3 : f32[c=67] = reduce_sum %2 over=(a, b)
  %4 : f32[] = const dtype=f32 value=2.0
  %5 : f32[c=67] = mul %3, %4
  result %5 out
end
`},
	{"column kept outside", fusion.Column, `func @k class=kernel
  arg %0 : f32[a=4, b=5, c=33] in
  %1 : f32[a=4, c=33] = reduce_max %0 over=(b)
  result %1 out
end
`},
	{"column with a result that needs no reduction", fusion.Column, `func @k class=kernel
  arg %0 : f32[a=9, c=67] in
  arg %1 : f32[c=67] in
  arg %2 : f32[] in
  %3 : f32[c=67] = div %2, %1
  %4 : f32[a=9, c=67] = mul %0, %3
  %5 : f32[c=67] = reduce_sum %4 over=(a)
  %6 : f32[c=67] = add %5, %3
  result %3 out
  result %6 out
end
`},
	{"column of one", fusion.Column, `func @k class=kernel
  arg %0 : f32[a=4, c=1] in
  %1 : f32[c=1] = reduce_sum %0 over=(a)
  result %1 out
end
`},
	{"scatter", fusion.Scatter, `func @k class=kernel
  arg %0 : f32[b=3, s=7, e=21] in
  arg %1 : i32[b=3, s=7] in
  %2 : f32[b=3, s=7, e=21] = neg %0
  %3 : f32[v=10, e=21] = scatter_add %2, %1 axis=v out={v=10, e=21}
  result %3 out
end
`},
	{"scatter batched", fusion.Scatter, `func @k class=kernel
  arg %0 : f32[b=3, s=7] in
  arg %1 : i32[b=3, s=7] in
  %2 : f32[b=3, v=10] = scatter_add %0, %1 axis=v out={b=3, v=10}
  result %2 out
end
`},
	{"scatter of repeated rows", fusion.Scatter, `func @k class=kernel
  arg %0 : f32[b=3, s=7, e=21] in
  arg %1 : f32[b=3, s=7, c=2] in
  arg %2 : i32[b=3, s=7, c=2] in
  %3 : f32[s=7, c=2, b=3, e=21] = broadcast %0 axes={s=7, c=2, b=3, e=21}
  %4 : f32[s=7, c=2, b=3, e=21] = mul %3, %1
  %5 : f32[v=10, b=3, e=21] = scatter_add %4, %2 axis=v out={v=10, b=3, e=21}
  result %5 out
end
`},
	{"sum of rows looked up", fusion.Column, `func @k class=kernel
  arg %0 : f32[v=10, b=3, e=21] in
  arg %1 : i32[b=3, s=7, c=2] in
  arg %2 : f32[b=3, s=7, c=2] in
  %3 : f32[s=7, c=2, b=3, e=21] = gather %0, %1 axis=v
  %4 : f32[s=7, c=2, b=3, e=21] = mul %3, %2
  %5 : f32[s=7, b=3, e=21] = reduce_sum %4 over=(c)
  result %5 out
end
`},
	{"rank", fusion.Column, `func @k class=kernel
  arg %0 : f32[b=3, g=5] in
  %1 : f32[b=3, o=5] = rename %0 axes={g:o}
  %2 : bool[b=3, o=5, g=5] = gt %1, %0
  %3 : bool[b=3, o=5, g=5] = eq %1, %0
  %4 : i32[o=5] = index axis=o size=5
  %5 : i32[g=5] = index axis=g size=5
  %6 : bool[o=5, g=5] = lt %4, %5
  %7 : bool[b=3, o=5, g=5] = and %3, %6
  %8 : bool[b=3, o=5, g=5] = or %2, %7
  %9 : i32[b=3, o=5, g=5] = cast %8 to=i32
  %10 : i32[b=3, g=5] = reduce_sum %9 over=(o)
  result %10 out
end
`},
	{"concat", fusion.Pieces, `func @k class=kernel
  arg %0 : f32[a=3, b=5, c=7] in
  arg %1 : f32[a=3, b=2, c=7] in
  %2 : f32[a=3, b=2, c=7] = exp %1
  %3 : f32[a=3, b=7, c=7] = concat %0, %2 axis=b
  result %3 out
end
`},
	{"concat last", fusion.Pieces, `func @k class=kernel
  arg %0 : f32[a=3, c=17] in
  arg %1 : f32[a=3, c=17] in
  %2 : f32[a=3, c=34] = concat %0, %1 axis=c
  result %2 out
end
`},
	{"pad", fusion.Pieces, `func @k class=kernel
  arg %0 : f32[a=3, c=17] in
  %1 : f32[a=3, c=22] = pad %0 axis=c high=3 low=2
  result %1 out
end
`},
	{"gemm prologue and epilogue", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[b=3, s=7, e=21] in
  arg %1 : f32[e=21] in
  arg %2 : f32[e=21, f=19] in
  arg %3 : f32[f=19] in
  arg %4 : f32[b=3, s=7, f=19] in
  %5 : f32[b=3, s=7, e=21] = mul %0, %1
  %6 : f32[b=3, s=7, f=19] = dot %5, %2 over=(e)
  %7 : f32[b=3, s=7, f=19] = add %6, %3
  %8 : f32[b=3, s=7, f=19] = tanh %7
  %9 : f32[b=3, s=7, f=19] = add %8, %4
  result %7 out
  result %9 out
end
`},
	{"gemm of heads", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[b=2, s=5, h=3, d=9] in
  arg %1 : f32[b=2, s=5, h=3, d=9] in
  %2 : f32[b=2, k=5, h=3, d=9] = rename %1 axes={s:k}
  %3 : f32[b=2, s=5, h=3, k=5] = dot %0, %2 over=(d)
  result %3 out
end
`},
	{"gemm over two axes that do not merge", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[b=4, x=3, s=6] in
  arg %1 : f32[s=6, b=4, y=20] in
  %2 : f32[x=3, y=20] = dot %0, %1 over=(b, s)
  result %2 out
end
`},
	{"gemm with the left axis last", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[x=33, k=6] in
  arg %1 : f32[k=6, y=5] in
  %2 : f32[y=5, x=33] = dot %0, %1 out=(y, x) over=(k)
  result %2 out
end
`},
	{"gemm to a scalar", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[k=37] in
  arg %1 : f32[k=37] in
  %2 : f32[] = dot %0, %1 over=(k)
  result %2 out
end
`},
	{"gemm of an outer product", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[x=5] in
  arg %1 : f32[y=18] in
  %2 : f32[x=5, y=18] = dot %0, %1 over=()
  result %2 out
end
`},
	{"gemm bf16", fusion.Gemm, `func @k class=kernel
  arg %0 : bf16[x=5, k=20] in
  arg %1 : bf16[k=20, y=18] in
  %2 : f32[x=5, y=18] = dot %0, %1 over=(k) to=f32
  %3 : bf16[x=5, y=18] = cast %2 to=bf16
  result %3 out
end
`},
	{"map remainder and equal truths", fusion.Map, `func @k class=kernel
  arg %0 : f32[a=5, b=21] in
  arg %1 : f32[b=21] in
  arg %2 : bool[a=5, b=21] in
  arg %3 : bool[b=21] in
  %4 : f32[] = const dtype=f32 value=7.3
  %5 : f32[a=5, b=21] = mul %0, %4
  %6 : f32[a=5, b=21] = mod %5, %1
  %7 : f32[a=5, b=21] = neg %5
  %8 : f32[a=5, b=21] = mod %7, %1
  %9 : bool[a=5, b=21] = eq %2, %3
  %10 : bool[a=5, b=21] = ne %2, %3
  result %6 out
  result %8 out
  result %9 out
  result %10 out
end
`},
	{"row of a repeated value", fusion.Row, `func @k class=kernel
  arg %0 : f32[a=3] in
  arg %1 : f32[a=3, b=5] in
  %2 : f32[a=3] = neg %0
  %3 : f32[a=3, b=5] = broadcast %2 axes={a=3, b=5}
  %4 : f32[a=3] = reduce_sum %3 over=(b)
  %5 : f32[a=3, b=5] = mul %1, %4
  result %5 out
end
`},
	{"row of integers below zero", fusion.Row, `func @k class=kernel
  arg %0 : i32[a=40, b=2] in
  %1 : i32[a=40, b=2] = neg %0
  %2 : i32[a=40] = reduce_max %1 over=(b)
  %3 : i32[a=40] = reduce_sum %0 over=(b)
  result %2 out
  result %3 out
end
`},
	{"column of two reductions", fusion.Column, `func @k class=kernel
  arg %0 : f32[a=9, c=21] in
  arg %1 : f32[c=21] in
  %2 : f32[a=9, c=21] = neg %0
  %3 : f32[c=21] = reduce_max %2 over=(a)
  %4 : f32[c=21] = reduce_sum %0 over=(a)
  %5 : f32[c=21] = div %3, %4
  %6 : f32[c=21] = add %5, %1
  result %4 out
  result %6 out
end
`},
	{"gemm of a repeated value", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[k=6] in
  arg %1 : f32[k=6, y=5] in
  %2 : f32[k=6] = neg %0
  %3 : f32[x=7, k=6] = broadcast %2 axes={x=7, k=6}
  %4 : f32[x=7, y=5] = dot %3, %1 over=(k)
  result %4 out
end
`},
	{"gemm over a repeated axis", fusion.Gemm, `func @k class=kernel
  arg %0 : f32[x=7] in
  arg %1 : f32[k=6, y=5] in
  %2 : f32[x=7] = neg %0
  %3 : f32[x=7, k=6] = broadcast %2 axes={x=7, k=6}
  %4 : f32[x=7, y=5] = dot %3, %1 over=(k)
  result %4 out
end
`},
}
