package op

import "ptc/ir"

// Tags are attributes that any operation may carry from the pass that gives
// them to the one that acts on them. They say where and when an operation runs,
// never what it computes. The first three are between the pass that cuts a
// pipeline into stages and the one that orders its slots; the last is between
// rematerialization and fusion.
const (
	TagStage = "stage" // Int: virtual stage; an operation without it runs on every stage that reads it
	TagMicro = "mb"    // Int: microbatch; an operation without it runs once a step
	TagHalf  = "half"  // Name: forward, backward or update
	TagAgain = "again" // BoolVal: a forward operation done again for the backward half
)

var tagSpecs = []AttrSpec{{TagStage, ir.Int(0), false}, {TagMicro, ir.Int(0), false}, {TagHalf, ir.Name(""), false}, {TagAgain, ir.BoolVal(false), false}}

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

// Placed are attributes without the tags of stages and slots, when those have
// been acted upon.
func Placed(attrs ir.Attrs) ir.Attrs { return dropped(attrs, TagStage, TagMicro, TagHalf) }

// Untagged are attributes without any tag.
func Untagged(attrs ir.Attrs) ir.Attrs { return dropped(attrs, TagStage, TagMicro, TagHalf, TagAgain) }

func dropped(attrs ir.Attrs, keys ...string) ir.Attrs {
	for _, k := range keys {
		if attrs.Has(k) {
			attrs = attrs.With(k, nil)
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
