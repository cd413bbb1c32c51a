package weights

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/internal/hfclass"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// Adapter is a low-rank adapter as PEFT writes it: a folder of adapter_config.json and
// adapter_model.safetensors.
type Adapter struct {
	dir     string
	file    *safetensors.File
	config  *peftConfig
	modules map[string]*peftModule // by the name of their tensor in the model's files
	whole   map[string]string      // tensors that take the place of the model's: their names here

	last string // the tensor whose factors were read last
	a, b []float64
}

// peftModule is the two factors of a module.
type peftModule struct {
	a, b       string // names of the tensors, of [rank, in] and [out, rank]
	rank       int64
	scale      float64
	transposed bool // the module's tensor is [in, out]
	embedding  bool
	fused      *fusedPart
}

// OpenAdapter opens the folder of an adapter of a model with these names.
func OpenAdapter(dir string, n *program.Names) (*Adapter, error) {
	text, err := readIn(dir, adapterConfigFile, maxConfig)
	if err != nil {
		return nil, err
	}
	c, err := parsePeft(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, adapterConfigFile), err)
	}
	path, err := within(dir, adapterFile)
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	ad := &Adapter{dir: dir, file: file, config: c, modules: map[string]*peftModule{}, whole: map[string]string{}}
	if err := ad.match(n); err != nil {
		ad.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return ad, nil
}

// Close closes the file.
func (ad *Adapter) Close() { _ = ad.file.Close() } // was only read

// Modules is the number of modules with factors.
func (ad *Adapter) Modules() int { return len(ad.modules) }

// ends of the names of tensors that an adapter has.
var factorEnds = []struct {
	end              string
	second, embedded bool
}{{factorA, false, false}, {factorB, true, false}, {".lora_embedding_A", false, true}, {".lora_embedding_B", true, true}}

// match finds for each tensor what it is of.
func (ad *Adapter) match(n *program.Names) error {
	known := map[string]*program.Named{}
	for i := range n.Tensors {
		known[n.Tensors[i].Name] = &n.Tensors[i]
	}
	var strange []string
	for _, t := range ad.file.Tensors() {
		switch t.DType {
		case dtype.F32, dtype.F16, dtype.BF16:
		default:
			return fmt.Errorf("the tensor %s is of %s; expected F32, F16 or BF16", t.Name, t.DType.Safetensors())
		}
		name, ok := strings.CutPrefix(t.Name, adapterPrefix)
		if !ok || !ad.factor(n, name, t.Name) && !ad.takesPlace(name, t, known) {
			strange = append(strange, t.Name)
		}
	}
	if len(strange) > 0 {
		slices.Sort(strange)
		if slices.ContainsFunc(strange, func(s string) bool { return strings.Contains(s, "lm_head.") }) && tiedOutput(n) {
			return fmt.Errorf("the adapter is of lm_head, but the output of this model is its embedding")
		}
		return fmt.Errorf("the adapter has tensors that match no parameter of a model of the family %s: %s", n.Family, few(strange))
	}
	if len(ad.modules) == 0 {
		return fmt.Errorf("the adapter has no factors, lora_A and lora_B")
	}
	if err := ad.split(n); err != nil {
		return err
	}
	for _, name := range sortedKeys(ad.modules) {
		if err := ad.check(n, name, known[name]); err != nil {
			return err
		}
	}
	return ad.checkTied(n)
}

// factor takes a tensor that is a factor.
func (ad *Adapter) factor(n *program.Names, name, full string) bool {
	for _, f := range factorEnds {
		module, ok := strings.CutSuffix(name, f.end)
		if !ok {
			continue
		}
		m := ad.modules[module+weightSuffix]
		if m == nil {
			m = &peftModule{embedding: f.embedded, transposed: hfclass.RowsIn(n.Family) || f.embedded}
			ad.modules[module+weightSuffix] = m
		}
		if m.embedding != f.embedded {
			return false
		}
		if f.second {
			m.b = full
		} else {
			m.a = full
		}
		return true
	}
	return false
}

// takesPlace takes a tensor that is there in place of the model's: of modules_to_save, of biases, or of what has
// an adapter besides.
func (ad *Adapter) takesPlace(name string, t safetensors.Tensor, known map[string]*program.Named) bool {
	for _, part := range []string{".base_layer.", ".modules_to_save."} {
		name = strings.Replace(name, part, ".", 1)
	}
	of := known[name]
	if of == nil || ad.whole[name] != "" || !slices.Equal(shapeOf(of), t.Shape) {
		return false
	}
	ad.whole[name] = t.Name
	return true
}

// check holds the factors of a module against its tensor and the config.
func (ad *Adapter) check(n *program.Names, name string, of *program.Named) error {
	m := ad.modules[name]
	module := strings.TrimSuffix(name, weightSuffix)
	if of == nil {
		if module == "lm_head" && tiedOutput(n) {
			return fmt.Errorf("the adapter is of lm_head, but the output of this model is its embedding")
		}
		return fmt.Errorf("the adapter is of the module %s, which a model of the family %s does not have", module, n.Family)
	}
	if m.a == "" || m.b == "" {
		return fmt.Errorf("the adapter of %s has one factor without the other", module)
	}
	shape := shapeOf(of)
	if len(shape) != 2 {
		return fmt.Errorf("the adapter is of %s, which is not a matrix", module)
	}
	if m.fused != nil {
		return nil // was checked as a whole
	}
	if !ad.config.targeted(module) {
		return fmt.Errorf("the adapter has factors for %s, which is not among the target_modules of %s", module, adapterConfigFile)
	}
	rank, scale, err := ad.config.of(module)
	if err != nil {
		return err
	}
	m.rank, m.scale = rank, scale
	out, in := shape[0], shape[1]
	if m.transposed {
		out, in = in, out
	}
	a, b := ad.file.Find(m.a).Shape, ad.file.Find(m.b).Shape
	if !slices.Equal(a, []int64{rank, in}) || !slices.Equal(b, []int64{out, rank}) {
		return fmt.Errorf("the factors of %s have the shapes %v and %v, but the rank %d of %s requires %v and %v", module, a, b, rank, adapterConfigFile, []int64{rank, in}, []int64{out, rank})
	}
	return nil
}

// tiedOutput is whether a model of these names has its embedding as its output.
func tiedOutput(n *program.Names) bool {
	for _, k := range n.Keys {
		if slices.Contains(k.Names, "tie_word_embeddings") {
			return k.Value == "true"
		}
	}
	return false
}

// checkTied refuses what changes an embedding and leaves the output that it is as well: PEFT then has two.
func (ad *Adapter) checkTied(n *program.Names) error {
	if !tiedOutput(n) || ad.config.Tying {
		return nil
	}
	for i := range n.Tensors {
		name := n.Tensors[i].Name
		module := strings.TrimSuffix(name, weightSuffix)
		changed := ad.modules[name] != nil || ad.whole[name] != ""
		if hfclass.Embedding(module) && !strings.HasSuffix(module, "wpe") && changed {
			return fmt.Errorf("the adapter changes %s alone, which in this model is the output as well; with \"tie_word_embeddings\": false in the model's %s they are two", module, configFile)
		}
	}
	return nil
}

// factors are those of a tensor, as numbers.
func (ad *Adapter) factors(name string) (m *peftModule, a, b []float64, err error) {
	m = ad.modules[name]
	if ad.last != name {
		if ad.a, err = ad.read(m.a); err != nil {
			return nil, nil, nil, err
		}
		if ad.b, err = ad.read(m.b); err != nil {
			return nil, nil, nil, err
		}
		if m.fused != nil {
			ad.a, ad.b = m.fused.cut(m.rank, ad.a, ad.b)
		}
		ad.last = name
	}
	return m, ad.a, ad.b, nil
}

func (ad *Adapter) read(tensor string) ([]float64, error) {
	t := ad.file.Find(tensor)
	raw := make([]byte, t.Bytes())
	if err := ad.file.ReadSlice(tensor, safetensors.Slice{}, raw); err != nil {
		return nil, err
	}
	x := make([]float64, dtype.Elems(t.DType, len(raw)))
	t.DType.Decode(x, raw)
	return x, nil
}
