package stack

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"ptc/internal/diag"
)

// Stack is how other software executes a model. The zero value is ptc itself.
type Stack struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Kernels lists what the software has as one kernel: names of declarations of the standard library, whose elementwise
	// work and reductions are meant, and of operations elsewhere. What one expression of a source computes is one kernel
	// anyway, and what multiplies the result of a product by a number is part of the product.
	Kernels [][]string `json:"kernels"`
	// Attention says that attention is one kernel, so that scores are not stored; Chunks that the loss is computed for some
	// rows at a time.
	Attention bool `json:"attention"`
	Chunks    bool `json:"chunked_loss"`
	// Without are optional passes of ptc that have no counterpart: overlap.
	Without []string `json:"without"`
	// HostLaunch says that the host launches each kernel, and is the limit where kernels are shorter than that.
	HostLaunch bool `json:"host_launch"`
	// UpdateAtOnce says that the optimizer updates many tensors by one launch, so that no update waits for the host.
	UpdateAtOnce bool `json:"update_at_once"`
	// SendsWait says that a device does nothing else while it sends to another stage.
	SendsWait bool `json:"sends_wait"`
	// Narrow says that activations between kernels have 16 bits, where ptc keeps some in 32.
	Narrow bool `json:"narrow_activations"`
	// Autograd says that operations are differentiated one by one: a backward kernel reads what its forward kernel read, and
	// computes anew what that one could have kept; slices are views, not kernels.
	Autograd bool `json:"autograd"`
	// Again says that a block whose activations are computed again is called again, and so computed to its end, though the
	// backward pass does not read its last results.
	Again bool `json:"recomputes_to_the_end"`
	// FlatGradients says that gradients lie in one buffer, so that one collective over a group reduces them all.
	FlatGradients bool `json:"flat_gradients"`
	// NarrowGradients says that gradients are added up across devices in 16 bits, where the plan has 32.
	NarrowGradients bool `json:"narrow_gradients"`
	// Library says that matrix products are those of a library, which has kernels of several tiles and takes the quickest.
	Library bool `json:"library"`
	// Products is the speed of the software's matrix products, as a share of the best that the machine reaches.
	Products *Number `json:"products,omitempty"`
	// ProductStart is the seconds by which a product of the library takes longer than its waves of tiles.
	ProductStart *Number `json:"product_start,omitempty"`
	// Sweeps is the speed of its other kernels, as a share of the best.
	Sweeps *Number `json:"sweeps,omitempty"`
	// Unaligned is the speed of matrix products with rows that do not begin at multiples of 16 bytes, as a share of others.
	Unaligned *Number `json:"unaligned_products,omitempty"`
	// HostKernel is the seconds of the host for each kernel: interpreter, dispatch and launch; HostBackward of those of backward
	// passes, which no interpreter dispatches.
	HostKernel   *Number `json:"host_kernel,omitempty"`
	HostBackward *Number `json:"host_backward,omitempty"`
	// Bytes is what the software takes of a device's memory besides the model and its activations.
	Bytes *Number `json:"framework_bytes,omitempty"`
	// Matrices is of how many matrices of scores the number must be a multiple for one kernel of softmax; others take several.
	Matrices *Number `json:"softmax_matrices,omitempty"`
	// Scalar is by how much a step takes longer than predicted: what was fitted to measured runs.
	Scalar *Number `json:"scalar,omitempty"`
}

// Number is a number with its source.
type Number struct {
	Value  float64 `json:"value"`
	Source string  `json:"from"`
}

// Of is the value of a number, or another one where it is not given.
func (n *Number) Of(otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	return n.Value
}

//go:embed stacks/*.json
var files embed.FS

// Names are the stacks that ptc brings along, sorted.
func Names() (out []string) {
	entries, _ := files.ReadDir("stacks") // embedded
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".json"))
	}
	return out
}

// Named is a stack that ptc brings along.
func Named(name string) (*Stack, error) {
	text, err := files.ReadFile("stacks/" + name + ".json")
	if err != nil {
		err := fmt.Errorf("there is no stack `%s`; expected %s, or a .json file", name, diag.OneOf(Names()))
		if hint := diag.DidYouMean(name, Names()); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return nil, err
	}
	return Load(text)
}

// MaxBytes is how large the file of a stack may be.
const MaxBytes = 1 << 20

// Load reads the file of a stack. The error says what is wrong with it.
func Load(text []byte) (*Stack, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the stack has %d bytes; a stack has at most %d", len(text), MaxBytes)
	}
	s := &Stack{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("the stack cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file goes on behind the stack")
	}
	return s, s.check()
}

// check says what a stack lacks.
func (s *Stack) check() error {
	if s.Name == "" {
		return errors.New("the stack has no name")
	}
	if len(s.Kernels) > mostKernels {
		return fmt.Errorf("the stack has %d kernels; it can have at most %d", len(s.Kernels), mostKernels)
	}
	for _, x := range []struct {
		what   string
		n      *Number
		lo, hi float64
	}{
		{"products", s.Products, 0.05, 1},
		{"product_start", s.ProductStart, 0, 1e-3},
		{"sweeps", s.Sweeps, 0.05, 1},
		{"unaligned_products", s.Unaligned, 0.05, 1},
		{"host_kernel", s.HostKernel, 0, 1},
		{"host_backward", s.HostBackward, 0, 1},
		{"framework_bytes", s.Bytes, 0, 1e15},
		{"softmax_matrices", s.Matrices, 1, 1 << 20},
		{"scalar", s.Scalar, 0.1, 10},
	} {
		switch {
		case x.n == nil:
		case x.n.Source == "":
			return fmt.Errorf("`%s` of stack %s has no source: add \"from\"", x.what, s.Name)
		case !(x.n.Value >= x.lo && x.n.Value <= x.hi):
			return fmt.Errorf("`%s` of stack %s is %g; expected %g to %g", x.what, s.Name, x.n.Value, x.lo, x.hi)
		}
	}
	return nil
}
