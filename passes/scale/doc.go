// Package scale multiplies the loss before it is differentiated, so that small
// gradients do not vanish in a dtype of few exponent bits, and undoes it before
// anything reads them: loss scaling, level Global, before autodiff.
//
// In: a module with its symbolic gradient, and the rule of its metadata,
// precision(scale=dynamic) or precision(scale=1024); compute=f16 alone means
// dynamic. Out: the gradient of the scaled loss; gradients divided by the scale
// in f32 before their norm, clipping and the optimizer read them, which are also
// the gradients that are reported; one test of whether all of them are finite;
// and every new parameter and state as the old one where they are not, so that
// such a step changes nothing.
// Invariant: a step whose gradients are finite computes what it computed
// before, up to rounding; the scale is a power of two in a dynamic run, and so
// rounds nothing.
//
// The method is that of Micikevicius et al., "Mixed Precision Training" (2018),
// section 3.2. The dynamic scale follows the rule in use since (Ott et al.,
// "Scaling Neural Machine Translation", 2018, section 3; the defaults of
// PyTorch's GradScaler): it starts at 2^16, halves where a gradient overflows,
// and doubles after 2000 steps in a row in which none does, unless it would be
// infinite then.
//
//	finite:     good ← good + 1;  at 2000: scale ← 2·scale, good ← 0
//	not finite: scale ← scale/2,  good ← 0
//
// Scale and count are states of their own, `loss_scale/scale` and
// `loss_scale/good`, so they are saved, loaded and resumed like any other, and
// replicated, being scalars. Whether all gradients are finite is decided by a
// sum, the number of elements that are not: it is partial and reduced across
// devices, and passed along a pipeline, as the norm of the gradients is, so all
// devices take one decision.
//
// A step that is skipped is no update: behind the gradient, `step` is the number of the
// update, so that bias corrections and schedules do not count skipped steps (updates.go).
// Imports ir, ir/op, passes/pass, passes/precision.
package scale
