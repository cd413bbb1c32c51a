package syntax

import "reflect"

// Inspect calls visit for n and, where it returns true, for everything below
// n in source order. It goes by the fields of the nodes, so a new node needs
// nothing here.
func Inspect(n Node, visit func(Node) bool) {
	if n == nil || reflect.ValueOf(n).IsNil() || !visit(n) {
		return
	}
	v := reflect.ValueOf(n).Elem()
	for i := range v.NumField() {
		inspectField(v.Field(i), visit)
	}
}

func inspectField(v reflect.Value, visit func(Node) bool) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			inspectField(v.Index(i), visit)
		}
	case reflect.Interface, reflect.Pointer:
		if n, ok := v.Interface().(Node); ok {
			Inspect(n, visit)
		}
	}
}
