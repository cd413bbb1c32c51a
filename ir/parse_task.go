package ir

import (
	"fmt"
	"strings"
)

// taskLine is: task forward, or: task before once.
func (p *body) taskLine() {
	p.space()
	at := p.at
	t := &Task{Name: p.ident("the name of a task")}
	if p.space(); !p.bad && strings.HasPrefix(p.line[p.at:], "once") {
		t.Once = true
		p.at += len("once")
	}
	p.endLine()
	switch {
	case p.bad:
	case p.ordinal > 0 || len(p.f.Args) > 0:
		p.failAt(at, codeSyntax, "tasks come before arguments", "", "")
	case p.f.Task(t.Name) != nil:
		p.failAt(at, codeDuplicate, "task `"+clip(t.Name)+"` is given twice", "", "")
	default:
		p.f.Tasks = append(p.f.Tasks, t)
	}
}

// ticksLine is: ticks before forward:0 backward:0 after. Lines follow one another.
func (p *body) ticksLine() {
	for p.space(); !p.bad && p.at < len(p.line) && !strings.HasPrefix(p.line[p.at:], "//"); p.space() {
		t := Tick{Task: p.knownTask()}
		if t.Task == nil {
			return
		}
		if p.at < len(p.line) && p.line[p.at] == ':' {
			at := p.at
			for p.at++; p.at < len(p.line) && isDigit(p.line[p.at]) && t.Micro <= MaxCount; p.at++ {
				t.Micro = 10*t.Micro + int(p.line[p.at]-'0')
			}
			if p.at == at+1 || t.Once || t.Micro >= max(1, p.f.Micro) {
				p.failAt(at, codeSyntax, "a tick of task `"+clip(t.Name)+"`", fmt.Sprintf("the number of one of %d microbatches, of a task that does not run once", p.f.Micro), "")
				return
			}
		} else if !t.Once {
			p.fail(codeSyntax, "a tick of task `"+clip(t.Name)+"` without a microbatch", "`"+t.Name+":0`")
			return
		}
		p.f.Ticks = append(p.f.Ticks, t)
	}
	p.endLine()
}

func (p *body) knownTask() *Task {
	p.space()
	at := p.at
	name := p.ident("the name of a task")
	t := p.f.Task(name)
	if t == nil && !p.bad {
		p.failAt(at, codeUndefined, "unknown task `"+clip(name)+"`", "", "")
	}
	return t
}

// doLine is: do forward.
func (p *body) doLine() {
	if p.task != nil || p.run != nil {
		p.fail(codeSyntax, "a `do` inside another, or inside a `for`", "a line `end do` or `end for` first")
		return
	}
	t := p.knownTask()
	if p.endLine(); !p.bad {
		p.task = t
	} else {
		p.task = &Task{} // its `end do` is no further mistake
	}
}

func (p *body) endDo() {
	if p.task == nil || p.run != nil {
		p.fail(codeSyntax, "`end do` without a `do`, or inside a `for`", "")
		return
	}
	p.at += len("do")
	p.endLine()
	p.task = nil
}
