package eval

import (
	"regexp"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/lang/source"
)

// foreign says what the language has in the place of what other frameworks call
// so: NumPy, PyTorch, JAX, TensorFlow and einops.
var foreign = map[string]string{}

func init() {
	for _, x := range []struct {
		hint  string
		names []string
	}{
		{"a product names what it sums: `dot(x, y, over = axis)`", []string{"matmul", "mm", "bmm", "einsum", "tensordot", "inner", "contract"}},
		{"axes have names, so that their order means nothing; `rename(old = new)` gives an axis another name", []string{"transpose", "permute", "swapaxes", "moveaxis", "rearrange"}},
		{"`split(axis = (a, b))` and `merge(axis = (a, b))` change axes", []string{"reshape", "view", "flatten", "unflatten"}},
		{"operands are aligned by the names of their axes, so that no axis of size 1 is needed", []string{"squeeze", "unsqueeze", "expand_dims", "newaxis"}},
		{"`concat(x, y, over = axis)` puts tensors one after the other", []string{"cat", "concatenate", "stack", "hstack", "vstack"}},
		{"a lookup is an index: `table[axis = positions]`", []string{"gather", "take", "embedding", "index_select", "take_along_axis"}},
		{"compare with the index: `cast(positions == index(i32[axis], axis), f32)`; to look rows up, `table[axis = positions]`", []string{"one_hot", "eye", "onehot"}},
		{"nothing is sorted; the rank of an element is a sum of comparisons, as in `nn.route`", []string{"sort", "argsort", "topk", "top_k"}},
		{"compare with the largest: `x == max(x, over = axis)`, as in `nn.route`", []string{"argmax", "argmin"}},
		{"`index(x, axis)` counts along an axis", []string{"arange", "range", "iota", "linspace", "position_ids"}},
		{"`where(condition, x, y)` chooses element by element", []string{"masked_fill", "select", "cond", "tril", "triu"}},
		{"a number takes any shape: `broadcast(0, x)`", []string{"zeros_like", "ones_like", "full", "full_like", "empty"}},
		{"`stop_gradient(x)` has no gradient", []string{"detach", "no_grad", "lax_stop_gradient"}},
		{"`x ** y` is a power", []string{"pow", "power"}},
		{"`silu` is what is also called swish", []string{"swish"}},
		{"`clamp(x, low, high)`", []string{"clip"}},
		{"`mean((x - mean(x, over = axis)) ** 2, over = axis)` is the variance", []string{"var", "variance", "std_dev"}},
		{"write `sqrt(sum(x * x, over = axis))`", []string{"norm", "l2_norm"}},
		{"a member of a module, `norm : nn.LayerNorm`, and then `norm(x)`", []string{"layer_norm", "layernorm", "LayerNorm"}},
		{"a member of a module, `norm : nn.RMSNorm`, and then `norm(x)`", []string{"rms_norm", "rmsnorm", "RMSNorm"}},
		{"a member of a module, `proj : nn.Linear(from = a, to = b)`, and then `proj(x)`", []string{"linear", "Linear", "Dense", "dense"}},
		{"a member of a module, `drop : nn.Dropout(rate = 0.1)`, and then `drop(x)`", []string{"dropout", "Dropout"}},
		{"`nn.cross_entropy(logits, targets, over = axis)`", []string{"cross_entropy", "CrossEntropyLoss", "nll_loss"}},
		{"`nn.mse(x, y)`", []string{"mse", "mse_loss", "MSELoss"}},
		{"`cast(x, dtype)`", []string{"astype", "to", "type", "convert"}},
		{"axes have names, so that no product needs a transpose: `dot(x, w, over = axis)`", []string{"T", "mT", "t"}},
		{"an axis name is its size where a number is expected, as in `sqrt(head)`; the size in a tensor is `size(x, axis)`", []string{"shape", "ndim", "numel"}},
		{"members are called by their names alone: `attn(x)`", []string{"self", "this"}},
	} {
		for _, n := range x.names {
			foreign[n] = x.hint
		}
	}
}

// instead is what to write for a name that is not known: what the language has
// for a name of other frameworks, the import that a module of the standard
// library needs, or the nearest of the names that are known.
func instead(name string, known []string) string {
	if hint, ok := foreign[name]; ok {
		return hint
	}
	if slices.Contains(source.Importable(), name) {
		return "add `import std." + name + "`"
	}
	if m := sizeWord.FindStringSubmatch(name); m != nil {
		unit := strings.ToUpper(m[2]) + "iB"
		if m[3] == "" && len(m[4]) > 0 {
			unit = strings.ToUpper(m[2]) + "B"
		}
		return "put a space between a number and its unit: `" + m[1] + " " + unit + "`"
	}
	return diag.DidYouMean(name, known)
}

// sizeWord is a size in bytes without the space before its unit.
var sizeWord = regexp.MustCompile(`(?i)^([0-9][0-9_]*)([kmgt])(i?)(b?)$`)
