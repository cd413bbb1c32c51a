// Package train lowers a train block: @step with the loss, its gradients and the
// optimizer's update of every parameter, and @eval; or @sample, the model's logits.
//
// In: the program's train block and an instance of its model. Out: the two
// functions and the metadata of training in a module, warnings and remarks.
// Invariant: arguments and results are in their canonical order.
// Imports internal/diag, ir, ir/op, lang/eval, lang/source, lang/syntax,
// lang/value.
package train
