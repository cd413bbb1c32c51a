package op

import "ptc/ir"

// Tags are attributes that any operation may carry between the pass that cuts
// a pipeline into stages and the one that orders its slots. They say where and
// when an operation runs, never what it computes.
const (
	TagStage = "stage" // Int: virtual stage; an operation without it runs on every stage that reads it
	TagMicro = "mb"    // Int: microbatch; an operation without it runs once a step
	TagHalf  = "half"  // Name: forward, backward or update
)

var tagSpecs = []AttrSpec{{TagStage, ir.Int(0), false}, {TagMicro, ir.Int(0), false}, {TagHalf, ir.Name(""), false}}

// Tags are the tags among attributes.
func Tags(attrs ir.Attrs) ir.Attrs {
	var out ir.Attrs
	for _, s := range tagSpecs {
		if v := attrs.Get(s.Key); v != nil {
			out = out.With(s.Key, v)
		}
	}
	return out
}

// Untagged are attributes without the tags.
func Untagged(attrs ir.Attrs) ir.Attrs {
	for _, s := range tagSpecs {
		if attrs.Has(s.Key) {
			attrs = attrs.With(s.Key, nil)
		}
	}
	return attrs
}

// Tagged are attributes with the tags of others.
func Tagged(attrs, tags ir.Attrs) ir.Attrs {
	for _, t := range Tags(tags) {
		attrs = attrs.With(t.Key, t.Val)
	}
	return attrs
}
