package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"ptc/editor/text"
)

type (
	Position = text.Position
	Range    = text.Range
)

// Location is a place in a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

type TextDocument struct {
	URI string `json:"uri"`
}

// Folder is one that the editor has open.
type Folder struct {
	URI string `json:"uri"`
}

// InitializeParams is what an editor says first. Settings are also those of
// [ConfigurationParams].
type InitializeParams struct {
	Options      json.RawMessage `json:"initializationOptions"`
	RootURI      string          `json:"rootUri"` // of editors that have one folder, or none
	Folders      []Folder        `json:"workspaceFolders"`
	Capabilities struct {
		Workspace struct {
			InlayHint struct{ RefreshSupport bool } `json:"inlayHint"`
			CodeLens  struct{ RefreshSupport bool } `json:"codeLens"`
		} `json:"workspace"`
		TextDocument struct {
			Completion struct {
				CompletionItem struct{ SnippetSupport bool } `json:"completionItem"`
			} `json:"completion"`
		} `json:"textDocument"`
	} `json:"capabilities"`
}

// Settings are what a user may choose: the layout whose shardings are shown, and the target
// whose memory is, by their names.
type Settings struct {
	Layout string `json:"layout"`
	Target string `json:"target"`
}

type ConfigurationParams struct {
	Settings struct {
		PTC *Settings `json:"ptc"`
	} `json:"settings"`
}

type DidOpenParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type DidChangeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	Changes []text.Edit `json:"contentChanges"`
}

// DocumentParams is of requests and notifications about a whole document.
type DocumentParams struct {
	TextDocument TextDocument `json:"textDocument"`
}

// PositionParams is of requests about a place.
type PositionParams struct {
	TextDocument TextDocument `json:"textDocument"`
	Position     Position     `json:"position"`
}

type ReferenceParams struct {
	PositionParams
	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

type RenameParams struct {
	PositionParams
	NewName string `json:"newName"`
}

// RangeParams is of requests about a part of a document.
type RangeParams struct {
	TextDocument TextDocument `json:"textDocument"`
	Range        Range        `json:"range"`
}

// CodeActionParams asks for actions at a range: those of some kinds, if it says so.
type CodeActionParams struct {
	RangeParams
	Context struct {
		Only []string `json:"only"`
	} `json:"context"`
}

// Wants is whether actions of a kind are asked for: an editor that asks for `source` also
// wants `source.x` (specification 3.17, CodeActionKind).
func (p *CodeActionParams) Wants(kind string) bool {
	return len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(o string) bool {
		return o == "" || o == kind || strings.HasPrefix(kind, o+".")
	})
}

type CancelParams struct {
	ID json.RawMessage `json:"id"`
}

type CommandParams struct {
	Command   string            `json:"command"`
	Arguments []json.RawMessage `json:"arguments"`
}

// Diagnostic is a mistake or warning. Severity is 1 for an error, 2 for a warning.
type Diagnostic struct {
	Range    Range     `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code,omitempty"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Related  []Related `json:"relatedInformation,omitempty"`
}

type Related struct {
	Location Location `json:"location"`
	Message  string   `json:"message"`
}

type PublishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Markup is text in Markdown.
type Markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// Markdown makes one.
func Markdown(s string) *Markup { return &Markup{"markdown", s} }

type Hover struct {
	Contents *Markup `json:"contents"`
	Range    Range   `json:"range"`
}

// InlayHint is text that an editor shows within a line. Kind is 1, of a type.
type InlayHint struct {
	Position    Position `json:"position"`
	Label       string   `json:"label"`
	Kind        int      `json:"kind"`
	PaddingLeft bool     `json:"paddingLeft"`
}

type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

type WorkspaceEdit struct {
	Changes map[string][]TextEdit `json:"changes"`
}

// Kinds of what completion offers.
const (
	CompleteFunction = 3
	CompleteField    = 5
	CompleteVariable = 6
	CompleteClass    = 7
	CompleteModule   = 9
	CompleteProperty = 10
	CompleteValue    = 12
	CompleteEnum     = 13
	CompleteKeyword  = 14
	CompleteConstant = 21
)

type CompletionItem struct {
	Label         string    `json:"label"`
	Kind          int       `json:"kind"`
	Detail        string    `json:"detail,omitempty"`
	Documentation *Markup   `json:"documentation,omitempty"`
	SortText      string    `json:"sortText,omitempty"`
	TextEdit      *TextEdit `json:"textEdit,omitempty"`
}

type CompletionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []CompletionItem `json:"items"`
}

// SignatureHelp is the signature of a call that is being written.
type SignatureHelp struct {
	Signatures      []Signature `json:"signatures"`
	ActiveSignature int         `json:"activeSignature"`
	ActiveParameter int         `json:"activeParameter"`
}

type Signature struct {
	Label         string      `json:"label"`
	Documentation *Markup     `json:"documentation,omitempty"`
	Parameters    []Parameter `json:"parameters"`
}

type Parameter struct {
	Label string `json:"label"`
}

// Kinds of symbols of a document.
const (
	SymbolModule    = 2
	SymbolNamespace = 3
	SymbolClass     = 5
	SymbolMethod    = 6
	SymbolProperty  = 7
	SymbolField     = 8
	SymbolFunction  = 12
	SymbolConstant  = 14
	SymbolObject    = 19
)

type DocumentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          Range            `json:"range"`
	SelectionRange Range            `json:"selectionRange"`
	Children       []DocumentSymbol `json:"children,omitempty"`
}

type FoldingRange struct {
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Kind      string `json:"kind,omitempty"`
}

type SemanticTokens struct {
	Data []int `json:"data"`
}

type Command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments,omitempty"`
}

type CodeLens struct {
	Range   Range     `json:"range"`
	Command *Command  `json:"command,omitempty"`
	Data    *LensData `json:"data,omitempty"`
}

// LensData is what a lens is resolved by.
type LensData struct {
	URI    string `json:"uri"`
	Module string `json:"module"`
}

// CodeAction is a command, or an edit that corrects diagnostics.
type CodeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []Diagnostic   `json:"diagnostics,omitempty"`
	Preferred   bool           `json:"isPreferred,omitempty"`
	Edit        *WorkspaceEdit `json:"edit,omitempty"`
	Command     *Command       `json:"command,omitempty"`
}
