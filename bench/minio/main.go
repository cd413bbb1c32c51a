package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"ptc/runtime/data"
	"ptc/runtime/data/prepare"
	"ptc/runtime/tokenizer"
)

const (
	user, password = "ptc-minio-check", "not-a-secret-of-anyone"
	bucket         = "corpus"
	vocabulary     = "runtime/tokenizer/testdata/gpt2.json"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: minio SERVER")
		os.Exit(2)
	}
	do := check
	if os.Args[1] == "saver" {
		do = func(string) error { return saver() }
	}
	if err := do(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "minio:", err)
		os.Exit(1)
	}
}

// server is MinIO's, on a port of its own.
type server struct {
	program, address, folder string

	cmd *exec.Cmd
}

func (s *server) start(password string) error {
	s.cmd = exec.Command(s.program, "server", "--quiet", "--address", s.address, s.folder)
	s.cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+user, "MINIO_ROOT_PASSWORD="+password, "MINIO_BROWSER=off")
	s.cmd.Stderr = os.Stderr
	return s.cmd.Start()
}

func (s *server) stop() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// client talks to the server past what is tried.
func (s *server) client(password string) (*minio.Client, error) {
	return minio.New(s.address, &minio.Options{Creds: credentials.NewStaticV4(user, password, ""), Region: "us-east-1"})
}

// restart starts the server with another password, and waits until it answers.
func (s *server) restart(password string) error {
	if err := errors.Join(s.stop(), s.start(password)); err != nil {
		return err
	}
	c, err := s.client(password)
	if err != nil {
		return err
	}
	return answers(func(ctx context.Context) error { _, err := c.BucketExists(ctx, bucket); return err })
}

// answers asks until the store answers.
func answers(ask func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for err = errors.New("none yet"); err != nil && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		err = ask(ctx)
	}
	return err
}

// check starts the server, tries everything, and ends it.
func check(program string) error {
	dir, err := os.MkdirTemp("", "ptc-minio-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	address, err := freePort()
	if err != nil {
		return err
	}
	s := &server{program: program, address: address, folder: filepath.Join(dir, "store")}
	if err := s.start(password); err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	for key, value := range map[string]string{"AWS_ENDPOINT_URL": "http://" + address, "AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": password} {
		if err := os.Setenv(key, value); err != nil {
			return err
		}
	}
	files := filepath.Join(dir, "files")
	c, err := s.client(password)
	if err != nil {
		return err
	}
	if err := fill(files, c); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		try  func() error
	}{
		{"sources", func() error { return sources(files) }},
		{"prepare", func() error { return prepared(files, dir) }},
		{"permission", permission},
		{"checkpoints", kept},
		{"a run that is killed", func() error { return killed(c) }},
		{"two runs of one place", takenOver},
		{"a key that is revoked", func() error { return revoked(s.restart) }},
		{"a store that is gone while a run saves", func() error { return goneSaving(s.stop) }},
		{"a store that is gone", func() error { return errors.Join(s.restart(password), gone(s.stop)) }},
	} {
		if err := step.try(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Println(step.what + ": as expected")
	}
	return nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// fill writes files, and puts them into the store once it answers.
func fill(dir string, c *minio.Client) error {
	err := answers(func(ctx context.Context) error { return c.MakeBucket(ctx, bucket, minio.MakeBucketOptions{}) })
	if err != nil {
		return err
	}
	ctx := context.Background()
	var tokens []byte
	for i := range 1 << 20 {
		tokens = binary.LittleEndian.AppendUint16(tokens, uint16(i*i%997))
	}
	for name, body := range map[string][]byte{
		"tokens/a.bin": tokens, "tokens/b.bin": tokens[:99998],
		"text/a.txt": bytes.Repeat([]byte("what comes of it, and what comes then. "), 4000),
		"text/b.txt": bytes.Repeat([]byte("0123456789 "), 900),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, body, 0o666); err != nil {
			return err
		}
		if _, err := c.FPutObject(ctx, bucket, name, path, minio.PutObjectOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// open opens a source of windows.
func open(kind, files string) (data.Source, []data.View, error) {
	s, err := data.Open(kind, []data.Option{{Key: "files", Value: files}}, data.Batch{Size: 4, Window: 64, Seed: 7})
	if err != nil {
		return nil, nil, err
	}
	return s, []data.View{{I32: make([]int32, 256)}, {I32: make([]int32, 256)}}, nil
}

func sources(dir string) error {
	for kind, pattern := range map[string]string{"tokens": "/tokens/*.bin", "text": "/text/**"} {
		here, a, err := open(kind, dir+pattern)
		if err != nil {
			return err
		}
		there, b, err := open(kind, "s3://"+bucket+pattern)
		if err != nil {
			return err
		}
		if here.Fingerprint() != there.Fingerprint() {
			return fmt.Errorf("%s: other data", kind)
		}
		for step := int64(1); step <= 50; step++ {
			if err := errors.Join(here.Fill(step, a), there.Fill(step, b)); err != nil {
				return err
			}
			if !slices.Equal(a[0].I32, b[0].I32) || !slices.Equal(a[1].I32, b[1].I32) {
				return fmt.Errorf("%s: step %d differs", kind, step)
			}
		}
	}
	return nil
}

func prepared(files, dir string) error {
	t, err := tokenizer.Open(vocabulary)
	if err != nil {
		return err
	}
	var shards [2][]byte
	for i, pattern := range []string{files + "/text/*", "s3://" + bucket + "/text/*"} {
		out := filepath.Join(dir, fmt.Sprint("out", i))
		if _, err := prepare.Run(context.Background(), prepare.Options{Patterns: []string{pattern}, Tokenizer: t, Dir: out, ShardSize: 1 << 20}); err != nil {
			return err
		}
		if shards[i], err = os.ReadFile(filepath.Join(out, "shard-00000.bin")); err != nil {
			return err
		}
	}
	if !bytes.Equal(shards[0], shards[1]) {
		return errors.New("the shards differ")
	}
	return nil
}

// expect is an error that says something.
func expect(err error, want string) error {
	if err == nil || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("%v, and %q is expected", err, want)
	}
	return nil
}

func permission() error {
	if err := os.Setenv("AWS_SECRET_ACCESS_KEY", "another-secret"); err != nil {
		return err
	}
	_, _, err := open("tokens", "s3://"+bucket+"/tokens/*")
	return errors.Join(expect(err, "gives no permission"), os.Setenv("AWS_SECRET_ACCESS_KEY", password))
}

// gone ends the server while a source reads.
func gone(stop func() error) error {
	s, views, err := open("tokens", "s3://"+bucket+"/tokens/*")
	if err != nil {
		return err
	}
	if err := errors.Join(s.Fill(1, views), stop()); err != nil {
		return err
	}
	for step := int64(2); step < 400 && err == nil; step++ {
		err = s.Fill(step, views)
	}
	return expect(err, "cannot be reached")
}
