package launch

func megatronPrecision(l *line, r *Run) {
	switch {
	case l.has("bf16") && l.has("fp16"):
		l.clash("--bf16", "--fp16", "a model computes in one of them")
	case l.has("bf16"):
		r.Compute, r.Params = "bf16", "bf16"
	case l.has("fp16"):
		r.Compute, r.Params = "f16", "f16"
		r.Scale = l.float("loss-scale", 0)
	}
	if l.has("loss-scale") && r.Compute != "f16" {
		l.notes = append(l.notes, Note{l.text("loss-scale", 0), "without effect, as the model does not compute in f16"})
		r.Kept = append(r.Kept, l.text("loss-scale", 0))
	}
	if l.has("grad-reduce-in-bf16") {
		r.Reduce = "bf16"
	}
	if l.has("fp8-format") {
		r.Products = "f8"
	}
	l.origin(r, "precision", "bf16", "fp16", "loss-scale", "grad-reduce-in-bf16", "fp8-format")
}

func megatronTraining(l *line, r *Run) {
	switch kind := l.str("optimizer", "adam"); kind {
	case "adam":
		r.Optimizer = "AdamW"
		r.Beta1, r.Beta2, r.AdamEps = l.float("adam-beta1", 0.9), l.float("adam-beta2", 0.999), l.float("adam-eps", 1e-8)
		l.origin(r, "beta1", "adam-beta1")
		l.origin(r, "beta2", "adam-beta2")
		l.origin(r, "adam_eps", "adam-eps")
	case "sgd":
		r.Optimizer, r.Momentum = "SGD", l.float("sgd-momentum", 0.9)
		l.origin(r, "momentum", "sgd-momentum")
	case "lion":
		r.Optimizer, r.Beta1, r.Beta2 = "Lion", l.float("lion-beta1", 0.95), l.float("lion-beta2", 0.98)
		l.origin(r, "beta1", "lion-beta1")
		l.origin(r, "beta2", "lion-beta2")
	default:
		l.refuse("optimizer", "std.optim has adam (AdamW), sgd and lion; of the others the state and the work are not known")
	}
	if l.has("train-iters") && l.has("train-samples") {
		l.clash(l.text("train-iters", ""), l.text("train-samples", ""), "both say how long training is")
	}
	r.Steps = l.steps(r, "train-iters", "train-samples", 1000)
	r.DecaySteps = l.steps(r, "lr-decay-iters", "lr-decay-samples", r.Steps)
	r.Warmup = l.steps(r, "lr-warmup-iters", "lr-warmup-samples", 0)
	if l.has("lr-warmup-fraction") {
		if r.Warmup > 0 {
			l.clash(l.text("lr-warmup-fraction", ""), l.product([]string{"lr-warmup-iters", "lr-warmup-samples"}), "both say how long the warm-up is")
		}
		f := l.float("lr-warmup-fraction", 0)
		if f < 0 || f > 1 {
			l.refuse("lr-warmup-fraction", "expected a fraction from 0 to 1")
		}
		r.Warmup = int(f * float64(r.DecaySteps))
	}
	switch style := l.str("lr-decay-style", "linear"); style {
	case "constant", "linear", "cosine":
		r.Decay = style
	default:
		l.refuse("lr-decay-style", "the schedules here are constant, linear and cosine")
	}
	r.LR, r.MinLR = l.float("lr", 3e-4), l.float("min-lr", 0)
	if r.MinLR > r.LR {
		l.clash(l.text("min-lr", ""), l.text("lr", ""), "the lowest rate is above the highest")
	}
	r.WeightDecay, r.Clip = l.float("weight-decay", 0.01), l.float("clip-grad", 1)
	for field, names := range map[string][]string{"steps": {"train-iters", "train-samples"}, "decay_steps": {"lr-decay-iters", "lr-decay-samples"},
		"warmup": {"lr-warmup-iters", "lr-warmup-samples", "lr-warmup-fraction"}, "lr": {"lr"}, "floor": {"min-lr"}, "decay": {"weight-decay"}, "clip": {"clip-grad"}, "optimizer": {"optimizer", "lr-decay-style"}} {
		l.origin(r, field, names...)
	}
}

// steps is a number of steps, said as one or as a number of sequences.
func (l *line) steps(r *Run, steps, samples string, otherwise int) int {
	if l.has(samples) {
		return l.integer(samples, 0) / max(1, r.Batch)
	}
	n := l.integer(steps, otherwise)
	if n < 0 {
		l.refuse(steps, "expected at least 0")
	}
	return n
}
