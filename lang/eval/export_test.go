package eval

// HasWord reports whether there is a function, or an operator on tensors, of the
// name.
func HasWord(name string) bool {
	_, operator := opNames[name]
	return operator || builtins[name] != nil
}
