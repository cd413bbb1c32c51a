package lanes
import ("testing";"fmt";"ptc/ir/fusion";"ptc/backend/kernel";"ptc/backend/kernel/gemm";"ptc/ir")
func TestZZ(t *testing.T) {
	ms := map[string]kernel.Machine{
		"512":{VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 32 << 10, L2: 1 << 20},
		"256":{VectorBits: 256, Registers: 16, FMA: true, L1: 32 << 10, L2: 512 << 10}}
	for _, s := range [][3]int{{64,64,4096},{64,64,64},{64,64,1024},{128,128,128},{128,128,4096},{256,256,256},{256,256,2048},{512,512,512},{1024,1024,1024},{768,768,1024},{64,256,4096},{16,16,16384},{32,32,8192},{768,16,4096},{8,768,3072},{1024,768,3072},{768,3072,1024},{1024,768,50256},{20,20,1<<16}} {
	for _, form := range []string{"NN","TN","NT"} {
		l, r := fmt.Sprintf("m=%d, k=%d",s[0],s[2]), fmt.Sprintf("k=%d, n=%d", s[2], s[1])
		if form[0]=='T' { l = fmt.Sprintf("k=%d, m=%d",s[2],s[0]) }
		if form[1]=='T' { r = fmt.Sprintf("n=%d, k=%d",s[1],s[2]) }
		f := parse(t, fmt.Sprintf("func @g class=kernel kind=gemm\n arg %%0 : f32[%s] in\n arg %%1 : f32[%s] in\n %%2 : f32[m=%d, n=%d] = dot %%0, %%1 out=(m, n) over=(k)\n result %%2 out\nend\n", l, r, s[0], s[1]))
		k, err := fusion.Analyze(f)
		if err != nil { t.Fatal(err) }
		for name, m := range ms {
			fmt.Println(name, s, form, Parts(k, m, nil), inParts(k, m))
		}
	}}
}
func TestZ2(t *testing.T) {
	m := kernel.Machine{VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 32 << 10, L2: 1 << 20}
	f := parse(t, "func @g class=kernel kind=gemm\n arg %0 : f32[m=64, k=4096] in\n arg %1 : f32[k=4096, n=64] in\n %2 : f32[m=64, n=64] = dot %0, %1 out=(m, n) over=(k)\n result %2 out\nend\n")
	p, err := fusion.InParts(f, func(*fusion.Kernel) int64 { return 4 })
	fmt.Println(p, err)
	k, err := fusion.Analyze(f)
	fmt.Println(err)
	s, err := specOf(k, m)
	fmt.Println(s, err)
}
func TestZ3(t *testing.T) {
	m := kernel.Machine{VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 32 << 10, L2: 1 << 20}
	f := parse(t, "func @g class=kernel kind=gemm\n arg %0 : f32[m=64, k=4096] in\n arg %1 : f32[k=4096, n=64] in\n %2 : f32[m=64, n=64] = dot %0, %1 out=(m, n) over=(k)\n result %2 out\nend\n")
	k, _ := fusion.Analyze(f)
	p, _ := fusion.InParts(f, func(*fusion.Kernel) int64 { return 4 })
	a, err := fusion.Analyze(p.Products)
	fmt.Println(err, ir.PrintFunc(p.Products), ir.PrintFunc(p.Sum))
	s, err := specOf(a, m)
	fmt.Println(s, err, k.Reduce)
	w, _ := specOf(k, m)
	fmt.Println(gemm.Saves(w, s, 4, m))
}
