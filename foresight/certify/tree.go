package certify

// covers checks that the leaves are parts of the space, and that each layout of it is in one of them: it goes through the tree from
// its root, takes the next leaf where that is the part it is at, and divides the part where it is not. A layout that is reached so
// is in no leaf. A part without layouts, such as one whose schedule does not exist, needs no leaf.
func (k *checker) covers() error {
	at := map[string]int{}
	for i := range k.c.Leaves {
		path := k.c.Leaves[i].At
		if first, ok := at[path]; ok {
			return k.leafFault(Tree, i, "this part of the space is there twice, also as leaves[%d]", first)
		}
		at[path] = i
	}
	if err := k.walk(&part{}, at); err != nil {
		return err
	}
	if i := len(k.parts); i < len(k.c.Leaves) {
		return k.leafFault(Tree, i, "this is no part of the space, or leaves before it have its layouts")
	}
	return nil
}

func (k *checker) walk(p *part, at map[string]int) error {
	i := len(k.parts)
	path := p.path()
	if i < len(k.c.Leaves) && k.c.Leaves[i].At == path {
		k.parts = append(k.parts, p)
		return nil
	}
	if j, ok := at[path]; ok {
		return k.leafFault(Tree, i, "leaves[%d] must be here, since `%s` comes first in the tree", j, path)
	}
	if len(p.words) == levels {
		if i == len(k.c.Leaves) {
			return fault(Tree, "no leaf has the layout `%s`: the list of leaves ends before it", path)
		}
		return k.leafFault(Tree, i, "no leaf has the layout `%s`, which comes before this one in the tree", path)
	}
	for _, x := range k.below(p) {
		if err := k.walk(x, at); err != nil {
			return err
		}
	}
	return nil
}
