package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"ptc/runtime/storage/fakestore"
)

// TestObjectStore: the commands take places in an object store where they take files and folders of
// parameters, and do the same with them.
func TestObjectStore(t *testing.T) {
	small := project(t)
	f := &fakestore.Store{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	for key, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(key, value)
	}
	const ck = "s3://bkt/run/ck"
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	must(t, "run", "a.bin", "--steps", "6", "--checkpoint", "ck", "--every", "2", "--eval-every", "2", "--keep-best", "--save", "end")
	must(t, "run", "a.bin", "--steps", "4", "--checkpoint", ck, "--every", "2", "--eval-every", "2", "--keep-best", "--resume=auto")
	must(t, "run", "a.bin", "--steps", "6", "--checkpoint", ck, "--every", "2", "--eval-every", "2", "--keep-best", "--resume=auto", "--save", "s3://bkt/run/end")
	f.Locked(func() {
		for key, path := range map[string]string{"run/end": "end", "run/ck/step-00000006/optimizer.safetensors": "ck/step-00000006/optimizer.safetensors"} {
			if string(f.Objects[key]) != read(t, path) {
				t.Errorf("%s is not %s", key, path)
			}
		}
	})
	for _, args := range [][]string{{"--checkpoint", "ck"}, {"--checkpoint", "ck", "--best"}, {"--checkpoint", "ck/step-00000004"}, {"--init", "end"}} {
		there := append([]string{}, args...)
		there[1] = "s3://bkt/run/" + args[1]
		if here, there := must(t, append([]string{"eval", "a.bin"}, args...)...), must(t, append([]string{"eval", "a.bin"}, there...)...); here.out != there.out {
			t.Errorf("%v: %s and %s", args, here.out, there.out)
		}
	}
	must(t, "run", "a.bin", "--steps", "6", "--resume="+ck+"/step-00000002", "--checkpoint", "new", "--save", "again")
	if read(t, "again") != read(t, "end") {
		t.Error("a run from a checkpoint of the store is another")
	}
	for want, args := range map[string][]string{
		"already has checkpoints": {"run", "a.bin", "--checkpoint", ck},
		"no such bucket":          {"run", "a.bin", "--checkpoint", "s3://other/ck"},
		"pass --checkpoint DIR":   {"run", "a.bin", "--resume=" + ck},
		"--resume=PLACE":          {"run", "a.bin", "--checkpoint", ck, "--resume", ck},
		"there is no checkpoint":  {"eval", "a.bin", "--checkpoint", "s3://bkt/none"},
	} {
		if r := ptc(t, args...); r.code == exitOK || !strings.Contains(r.err, want) {
			t.Errorf("%v: exit code %d\n%s", args, r.code, r.err)
		}
	}
	if r := ptc(t, append(sweepT(small), "-o", "s3://bkt/out")...); r.code != exitUsage || !strings.Contains(r.err, "of this machine") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	must(t, sweepT(small, "--checkpoint", "s3://bkt/sweep", "--point", "2")...)
	if keys := strings.Join(f.Keys(), " "); !strings.Contains(keys, "sweep/point-2/step-00000006/manifest.json") {
		t.Errorf("a sweep's checkpoints: %s", keys)
	}
}
