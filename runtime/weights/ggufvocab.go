package weights

import (
	"encoding/binary"
	"encoding/json"
	"math"

	"ptc/runtime/program"
)

// ggufVocab adds the keys of a tokenizer.
func ggufVocab(v *vocab, add func(key string, kind uint32, v []byte)) {
	le := binary.LittleEndian
	text := func(key, s string) { add(key, ggufString, ggufText(s)) }
	yes := func(key string, b bool) {
		x := byte(0)
		if b {
			x = 1
		}
		add(key, ggufBool, []byte{x})
	}
	texts := func(key string, list []string) {
		b := le.AppendUint64(le.AppendUint32(nil, ggufString), uint64(len(list)))
		for _, s := range list {
			b = append(b, ggufText(s)...)
		}
		add(key, ggufArray, b)
	}
	text("tokenizer.ggml.model", v.model)
	text("tokenizer.ggml.pre", v.pre)
	texts("tokenizer.ggml.tokens", v.tokens)
	if v.model == "llama" {
		b := le.AppendUint64(le.AppendUint32(nil, ggufFloat32), uint64(len(v.scores)))
		for _, x := range v.scores {
			b = le.AppendUint32(b, math.Float32bits(x))
		}
		add("tokenizer.ggml.scores", ggufArray, b)
		yes("tokenizer.ggml.add_space_prefix", v.prefix)
	}
	b := le.AppendUint64(le.AppendUint32(nil, ggufInt32), uint64(len(v.kinds)))
	for _, x := range v.kinds {
		b = le.AppendUint32(b, uint32(x))
	}
	add("tokenizer.ggml.token_type", ggufArray, b)
	if v.model == "gpt2" {
		texts("tokenizer.ggml.merges", v.merges)
	}
	for _, r := range roles {
		if id, ok := v.ids[r.ours]; ok {
			add("tokenizer.ggml."+r.key+"_token_id", ggufUint32, le.AppendUint32(nil, uint32(id)))
		}
	}
	yes("tokenizer.ggml.add_bos_token", v.first)
	yes("tokenizer.ggml.add_eos_token", v.last)
	var names []string
	for _, name := range sortedKeys(v.templates) {
		if name == "" {
			text("tokenizer.chat_template", v.templates[name])
			continue
		}
		names = append(names, name)
		text("tokenizer.chat_template."+name, v.templates[name])
	}
	if len(names) > 0 {
		texts("tokenizer.chat_templates", names)
	}
}

// stretch is by what each frequency of rope is divided, where rope is stretched as that of Llama 3 is: those of
// short waves stay, those of long ones are divided by the factor, and between them is a way from one to
// the other. Nil where rope is as it is.
func stretch(hf *program.Names) []float64 {
	if hf == nil {
		return nil
	}
	number := map[string]float64{}
	kind := ""
	for _, k := range hf.Keys {
		for _, name := range k.Names {
			var x float64
			if name == "rope_parameters.rope_type" {
				_ = json.Unmarshal([]byte(k.Value), &kind) // else no text
			} else if json.Unmarshal([]byte(k.Value), &x) == nil {
				number[name] = x
			}
		}
	}
	if kind != "llama3" {
		return nil
	}
	const rope = "rope_parameters."
	base, factor, trained := number[rope+"rope_theta"], number[rope+"factor"], number[rope+"original_max_position_embeddings"]
	low, high := number[rope+"low_freq_factor"], number[rope+"high_freq_factor"]
	n := int(number["head_dim"])
	var out []float64
	for i := 0; i < n; i += 2 {
		wave := 2 * math.Pi * math.Pow(base, float64(i)/float64(n))
		switch {
		case wave < trained/high:
			out = append(out, 1)
		case wave > trained/low:
			out = append(out, factor)
		default:
			part := (trained/wave - low) / (high - low)
			out = append(out, 1/((1-part)/factor+part))
		}
	}
	return out
}
