package server

import (
	"context"
	"encoding/json"
	"errors"

	"ptc/editor/protocol"
	"ptc/editor/query"
	"ptc/editor/text"
)

// request answers one.
type request func(ctx context.Context, s *server, params json.RawMessage) (any, error)

// requests has one row for each that is answered.
var requests = map[string]request{
	"initialize": decoded(initialize),
	"shutdown":   shutdown,
	"textDocument/hover": place(true, func(v *query.View, p protocol.Position) any {
		return v.Hover(p)
	}),
	"textDocument/definition":    place(false, func(v *query.View, p protocol.Position) any { return v.Definition(p) }),
	"textDocument/completion":    place(false, func(v *query.View, p protocol.Position) any { return v.Complete(p) }),
	"textDocument/signatureHelp": place(false, func(v *query.View, p protocol.Position) any { return v.Signature(p) }),
	"textDocument/references": with(false, func(_ context.Context, v *query.View, p protocol.ReferenceParams) (any, error) {
		return v.References(p.Position, p.Context.IncludeDeclaration), nil
	}),
	"textDocument/prepareRename": with(false, func(_ context.Context, v *query.View, p protocol.PositionParams) (any, error) {
		at, name, err := v.Renamable(p.Position)
		return map[string]any{"range": at, "placeholder": name}, err
	}),
	"textDocument/rename": with(false, func(ctx context.Context, v *query.View, p protocol.RenameParams) (any, error) {
		return v.Rename(ctx, p.Position, p.NewName)
	}),
	"textDocument/inlayHint": with(false, func(_ context.Context, v *query.View, p protocol.RangeParams) (any, error) {
		return v.Hints(p.Range), nil
	}),
	"textDocument/codeLens": with(false, func(_ context.Context, v *query.View, p protocol.DocumentParams) (any, error) {
		return v.Lenses(p.TextDocument.URI), nil
	}),
	"codeLens/resolve":        decoded(resolve),
	"textDocument/codeAction": decoded(actions),
	"textDocument/semanticTokens/full": with(false, func(_ context.Context, v *query.View, _ protocol.DocumentParams) (any, error) {
		return v.SemanticTokens(), nil
	}),
	"textDocument/documentSymbol": ofText(func(d *document) (any, error) { return query.Symbols(d.uri, d.text), nil }),
	"textDocument/foldingRange":   ofText(func(d *document) (any, error) { return query.Folds(d.text), nil }),
	"textDocument/formatting": ofText(func(d *document) (any, error) {
		edits, errs := query.Format(d.uri, d.text)
		if len(errs) > 0 {
			return nil, errors.New("a file with a mistake in its syntax is left as it is: " + errs[0].Msg)
		}
		return edits, nil
	}),
	"workspace/executeCommand": decoded(execute),
}

// decoded decodes the parameters of a request for answer.
func decoded[P any](answer func(context.Context, *server, P) (any, error)) request {
	return func(ctx context.Context, s *server, params json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return answer(ctx, s, p)
	}
}

// with answers by a view of the document that the parameters name.
func with[P any](compiled bool, answer func(context.Context, *query.View, P) (any, error)) request {
	return func(ctx context.Context, s *server, params json.RawMessage) (any, error) {
		var p P
		var d protocol.DocumentParams
		if err := errors.Join(json.Unmarshal(params, &p), json.Unmarshal(params, &d)); err != nil {
			return nil, err
		}
		v, err := s.view(ctx, d.TextDocument.URI, compiled)
		if err != nil {
			return nil, err
		}
		return answer(ctx, v, p)
	}
}

// place answers about a position.
func place(compiled bool, answer func(*query.View, protocol.Position) any) request {
	return with(compiled, func(_ context.Context, v *query.View, p protocol.PositionParams) (any, error) {
		return answer(v, p.Position), nil
	})
}

// ofText answers about the text of a document alone.
func ofText(answer func(*document) (any, error)) request {
	return decoded(func(_ context.Context, s *server, p protocol.DocumentParams) (any, error) {
		s.mu.Lock()
		d := s.docs[p.TextDocument.URI]
		s.mu.Unlock()
		if d == nil {
			return nil, errors.New(p.TextDocument.URI + " is not open")
		}
		return answer(d)
	})
}

// actions are corrections of the mistakes at a range, and the layouts to show there.
func actions(ctx context.Context, s *server, p protocol.CodeActionParams) (any, error) {
	uri := p.TextDocument.URI
	out := []protocol.CodeAction{}
	if p.Wants(query.KindFix) {
		v, err := s.mistaken(ctx, uri)
		if err != nil {
			return nil, err
		}
		out = append(out, v.Fixes(p.Range)...)
	}
	if p.Wants(query.KindSource) {
		v, err := s.view(ctx, uri, false)
		if err != nil {
			return nil, err
		}
		out = append(out, v.Actions(uri, p.Range)...)
	}
	return out, nil
}

func initialize(_ context.Context, s *server, p protocol.InitializeParams) (any, error) {
	var settings protocol.Settings
	if len(p.Options) > 0 {
		if err := json.Unmarshal(p.Options, &settings); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.layout, s.target = true, settings.Layout, settings.Target
	for _, f := range append(p.Folders, protocol.Folder{URI: p.RootURI}) {
		if path := pathOf(f.URI); path != "" {
			s.folders = append(s.folders, path)
		}
	}
	s.refresh.hints = p.Capabilities.Workspace.InlayHint.RefreshSupport
	s.refresh.lenses = p.Capabilities.Workspace.CodeLens.RefreshSupport
	return map[string]any{
		"serverInfo": map[string]any{"name": "ptc", "version": s.options.Version},
		"capabilities": map[string]any{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           map[string]any{"openClose": true, "change": 2, "save": true},
			"hoverProvider":              true,
			"definitionProvider":         true,
			"referencesProvider":         true,
			"documentSymbolProvider":     true,
			"foldingRangeProvider":       true,
			"documentFormattingProvider": true,
			"inlayHintProvider":          true,
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{query.KindFix, query.KindSource}},
			"renameProvider":             map[string]any{"prepareProvider": true},
			"codeLensProvider":           map[string]any{"resolveProvider": true},
			"completionProvider":         map[string]any{"triggerCharacters": []string{".", "[", "("}},
			"signatureHelpProvider":      map[string]any{"triggerCharacters": []string{"(", ","}},
			"executeCommandProvider":     map[string]any{"commands": []string{query.CommandLayout}},
			"semanticTokensProvider": map[string]any{"full": true,
				"legend": map[string]any{"tokenTypes": query.TokenTypes, "tokenModifiers": []string{}}},
		},
	}, nil
}

func shutdown(_ context.Context, s *server, _ json.RawMessage) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, n := range s.programs {
		n.cancel()
	}
	return nil, nil
}

// resolve says what a lens says, once the program is compiled.
func resolve(ctx context.Context, s *server, l protocol.CodeLens) (any, error) {
	if l.Data == nil {
		return nil, errors.New("a lens of somebody else")
	}
	n, _, err := s.stateOf(ctx, l.Data.URI)
	if err != nil {
		return nil, err
	}
	select {
	case <-n.compiled:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	v, err := s.view(ctx, l.Data.URI, true)
	if err != nil {
		return nil, err
	}
	l.Command = &protocol.Command{Title: v.LensText(l.Data.Module)}
	return l, nil
}

// execute does a command: it chooses the layout that is shown of a document.
func execute(_ context.Context, s *server, p protocol.CommandParams) (any, error) {
	var uri, layout string
	if p.Command != query.CommandLayout || len(p.Arguments) != 2 {
		return nil, errors.New("there is no command " + p.Command + " of so many arguments")
	}
	if err := errors.Join(json.Unmarshal(p.Arguments[0], &uri), json.Unmarshal(p.Arguments[1], &layout)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layouts[uri] = layout
	s.update()
	return nil, nil
}

// notifications has one row for each that is taken.
var notifications = map[string]func(*server, json.RawMessage) error{
	"$/cancelRequest": (*server).cancel,
	"textDocument/didOpen": edited(func(s *server, p protocol.DidOpenParams) bool {
		t := p.TextDocument
		s.docs[t.URI] = &document{t.URI, pathOf(t.URI), t.Version, text.New(t.Text)}
		return true
	}),
	"textDocument/didChange": edited(func(s *server, p protocol.DidChangeParams) bool {
		d := s.docs[p.TextDocument.URI]
		if d != nil {
			s.docs[d.uri] = &document{d.uri, d.path, p.TextDocument.Version, text.Apply(d.text, p.Changes)}
		}
		return d != nil
	}),
	"textDocument/didSave": func(s *server, _ json.RawMessage) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.update() // a file that is imported may have changed
		return nil
	},
	"textDocument/didClose": edited(func(s *server, p protocol.DocumentParams) bool {
		delete(s.docs, p.TextDocument.URI)
		return true
	}),
	"workspace/didChangeConfiguration": edited(func(s *server, p protocol.ConfigurationParams) bool {
		c := p.Settings.PTC
		if c != nil {
			s.layout, s.target, s.layouts = c.Layout, c.Target, map[string]string{}
		}
		return c != nil
	}),
}

// edited handles a notification: if take reports a change of documents or settings, it makes the programs anew.
func edited[P any](take func(*server, P) bool) func(*server, json.RawMessage) error {
	return func(s *server, params json.RawMessage) error {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if take(s, p) {
			s.update()
		}
		return nil
	}
}
