package train

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/storage"
	"ptc/runtime/storage/fakestore"
)

const bucket = "s3://bkt/run"

// serveT starts an object store that the environment names.
func serveT(t *testing.T) *fakestore.Store {
	t.Helper()
	f := &fakestore.Store{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	for key, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(key, value)
	}
	return f
}

func sameObject(t *testing.T, f *fakestore.Store, key, path string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Locked(func() {
		if !bytes.Equal(f.Objects[key], want) {
			t.Errorf("%s and %s differ", key, path)
		}
	})
}

// TestPartsInAnObjectStore: processes save to an object store, each its part, and go on from it; so does one.
func TestPartsInAnObjectStore(t *testing.T) {
	f := serveT(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	runT(t, newToyOn(1), Options{Save: at("straight")})
	many := func(o Options) {
		t.Helper()
		errs, logs := jobT(t, context.Background(), toyOnTwo, func(int) Options { return o })
		warned := slices.ContainsFunc(strings.Split(logs[0], "\n"), func(line string) bool {
			return strings.Contains(line, `"warning"`) && !strings.Contains(line, " waited ") // for the checkpoint before
		})
		if err := errors.Join(errs...); err != nil || warned {
			t.Fatalf("%v\n%s", err, logs[0])
		}
	}
	many(Options{Steps: 6, Checkpoint: bucket + "/ck", Every: 2, Keep: 2})
	many(Options{Steps: 10, Checkpoint: bucket + "/ck", Every: 2, Keep: 2, ResumeIfAny: true})
	names := []string{"manifest.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
		"optimizer-00001-of-00002.safetensors", "optimizer-00002-of-00002.safetensors"}
	var want []string
	for _, step := range []string{"step-00000008", "step-00000010"} {
		for _, name := range names {
			want = append(want, "run/ck/"+step+"/"+name)
		}
	}
	if got := f.Keys(); !slices.Equal(got, want) {
		t.Errorf("the objects are %q", got)
	}
	runT(t, newToyOn(1), Options{Checkpoint: bucket + "/ck", Resume: true, Save: at("end")})
	sameFile(t, at("straight"), at("end"))
}

// TestObjectStore: a run that saves to an object store, and goes on from it under another layout, is
// the run that never stopped, and its files are those that a disk has.
func TestObjectStore(t *testing.T) {
	f := serveT(t)
	dir := t.TempDir()
	straight := filepath.Join(dir, "straight")
	runT(t, newToyOn(1), Options{Save: straight, Checkpoint: filepath.Join(dir, "ck"), Every: 5})
	runT(t, newToyOn(1), Options{Steps: 10, Checkpoint: bucket + "/ck", Every: 5, Save: bucket + "/ten.safetensors"})
	sum, lines := runT(t, newToyOn(2), Options{Checkpoint: bucket + "/ck", ResumeIfAny: true, Every: 5, Save: bucket + "/end.safetensors"})
	warnings := slices.DeleteFunc(named(lines, "warning"), func(w map[string]any) bool {
		return strings.Contains(w["message"].(string), " waited ") // for the checkpoint before: steps here are faster than any store
	})
	if sum.Ran != 10 || sum.Checkpoint != bucket+"/ck/step-00000020" || len(warnings) != 0 {
		t.Errorf("%+v, %v", sum, lines)
	}
	sameObject(t, f, "run/end.safetensors", straight)
	for _, step := range []string{"step-00000010", "step-00000015", "step-00000020"} {
		for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
			sameObject(t, f, "run/ck/"+step+"/"+name, filepath.Join(dir, "ck", step, name))
		}
	}
	if keys := f.Keys(); slices.Contains(keys, "run/ck/.lock") || slices.Contains(keys, "run/ck/step-00000005/manifest.json") {
		t.Errorf("left: %v", keys)
	}
	// Parameters of the store begin a run as those of a disk do.
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	runT(t, newToy(), Options{Steps: 3, Init: straight, Save: a})
	runT(t, newToy(), Options{Steps: 3, Init: bucket + "/ck/step-00000020/model.safetensors", Save: b})
	sameFile(t, a, b)
}

// TestResumeFromAnotherPlace: a run goes on from what another place has, and saves to its own.
func TestResumeFromAnotherPlace(t *testing.T) {
	f := serveT(t)
	dir := t.TempDir()
	straight, ck := filepath.Join(dir, "straight"), filepath.Join(dir, "ck")
	runT(t, newToy(), Options{Save: straight})
	runT(t, newToy(), Options{Steps: 10, Checkpoint: ck, Every: 5})
	runT(t, newToy(), Options{Steps: 15, ResumeFrom: ck, Checkpoint: bucket + "/ck"})
	runT(t, newToy(), Options{ResumeFrom: bucket + "/ck/", Checkpoint: bucket + "/ck", Save: bucket + "/end"})
	sameObject(t, f, "run/end", straight)
	for _, from := range []string{bucket + "/ck/step-00000015", filepath.Join(ck, "step-00000005")} {
		runT(t, newToy(), Options{ResumeFrom: from, Checkpoint: filepath.Join(dir, "other"), Overwrite: true, Save: filepath.Join(dir, "end")})
		sameFile(t, filepath.Join(dir, "end"), straight)
	}
	failsT(t, newToy(), Options{ResumeFrom: ck, Checkpoint: bucket + "/ck"}, ExitFile, "already has checkpoints")
	failsT(t, newToy(), Options{ResumeFrom: bucket + "/none", Checkpoint: bucket + "/new"}, ExitFile, bucket+"/none has no checkpoint")
	failsT(t, newToy(), Options{ResumeFrom: ck}, ExitUsage, "pass --checkpoint DIR")
	failsT(t, newToy(), Options{ResumeFrom: ck, Resume: true, Checkpoint: bucket + "/new"}, ExitUsage, "not from both")
}

// TestObjectStoreFaults: a store that takes no more ends a run as a disk does that is full, with what
// it was, and the checkpoint before is what the next run goes on from.
func TestObjectStoreFaults(t *testing.T) {
	for _, c := range []struct {
		status     int
		code, want string
	}{
		{http.StatusForbidden, "ExpiredToken", "takes the credentials no longer"},
		{http.StatusInsufficientStorage, "XMinioStorageFull", "has no room left"},
		{http.StatusNotFound, "NoSuchBucket", "no such bucket"},
	} {
		f := serveT(t)
		after := func(step int32) {
			if step == 6 {
				f.Locked(func() {
					f.Fail = func(r *http.Request) (int, string) {
						if r.Method == http.MethodPut {
							return c.status, c.code
						}
						return 0, ""
					}
				})
			}
		}
		afterStep.Store(&after)
		sum, lines, err := runLog(context.Background(), newToy(), Options{Checkpoint: bucket + "/ck", Every: 5, CheckpointSync: true})
		afterStep.Store(nil)
		failed(t, err, ExitFile, "ptc cannot save a checkpoint; earlier checkpoints are intact", c.want)
		if saved := named(lines, "checkpoint"); len(saved) != 1 || sum.Steps != 10 {
			t.Errorf("%s: %d checkpoints after %d steps", c.code, len(saved), sum.Steps)
		}
		f.Locked(func() { f.Fail = nil })
		got, _ := runT(t, newToy(), Options{Checkpoint: bucket + "/ck", Resume: true})
		if got.Ran != 15 {
			t.Errorf("%s: %d steps were run after the last good checkpoint", c.code, got.Ran)
		}
	}
}

// TestObjectStoreMistakes are found out before the first step.
func TestObjectStoreMistakes(t *testing.T) {
	f := serveT(t)
	failsT(t, newToy(), Options{Checkpoint: "s3://other/ck"}, ExitFile, "no such bucket")
	failsT(t, newToy(), Options{Checkpoint: bucket + "/ck", Resume: true}, ExitFile, "has no checkpoint")
	failsT(t, newToy(), Options{Save: "s3://other/p"}, ExitFile, "cannot write s3://other/p", "no such bucket")
	failsT(t, newToy(), Options{Init: bucket + "/none"}, ExitFile, "no such object")
	failsT(t, newToy(), Options{Trace: bucket + "/trace"}, ExitUsage, "of this machine")
	runT(t, newToy(), Options{Steps: 1, Checkpoint: bucket + "/ck"})
	failsT(t, newToy(), Options{Checkpoint: bucket + "/ck"}, ExitFile, "already has checkpoints")
	f.Fail = func(*http.Request) (int, string) { return http.StatusForbidden, "AccessDenied" }
	failsT(t, newToy(), Options{Checkpoint: bucket + "/ck", ResumeIfAny: true}, ExitFile, "gives no permission")
}

// TestObjectStoreTakenOver: a second run of the same folder goes on, and the first ends when it would
// save; nothing of either is lost.
func TestObjectStoreTakenOver(t *testing.T) {
	serveT(t)
	begun := false
	after := func(step int32) {
		if step == 7 && !begun {
			begun = true
			if _, err := Run(context.Background(), newToy(), Options{Steps: 6, Checkpoint: bucket + "/ck", Resume: true}); err != nil {
				t.Error(err)
			}
			// As a run does that lives on.
			if err := put(bucket+"/ck/.lock", `{"host":"h","pid":7,"token":"x"}`); err != nil {
				t.Error(err)
			}
		}
	}
	afterStep.Store(&after)
	t.Cleanup(func() { afterStep.Store(nil) })
	_, _, err := runLog(context.Background(), newToy(), Options{Checkpoint: bucket + "/ck", Every: 5, CheckpointSync: true})
	failed(t, err, ExitFile, "process 7 on host h is using it")
	sum, _ := runT(t, newToy(), Options{Checkpoint: bucket + "/ck", Resume: true})
	if sum.Ran != 14 {
		t.Errorf("%d steps after the checkpoint of the second run", sum.Ran)
	}
}

func put(place, text string) error {
	out, err := storage.Create(place, int64(len(text)))
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := out.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return out.Commit()
}

// TestObjectStoreProcesses: a job of several processes saves to a store and goes on from it, and ends
// on all of them when the one that writes cannot.
func TestObjectStoreProcesses(t *testing.T) {
	f := serveT(t)
	straight := filepath.Join(t.TempDir(), "straight")
	runT(t, newToyOn(2), Options{Save: straight})
	for _, steps := range []int64{7, 20} {
		o := Options{Steps: steps, Checkpoint: bucket + "/ck", Every: 3, ResumeIfAny: true, Save: bucket + "/end"}
		errs, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return o })
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	sameObject(t, f, "run/end", straight)
	f.Fail = func(r *http.Request) (int, string) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "model") {
			return http.StatusForbidden, "ExpiredToken"
		}
		return 0, ""
	}
	o := Options{Checkpoint: bucket + "/other", Every: 3, CheckpointSync: true}
	errs, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return o })
	if errs[0] == nil || errs[1] == nil || !strings.Contains(errs[0].Error(), "takes the credentials no longer") {
		t.Errorf("the job ends with %v", errs)
	}
}

// TestObjectStoreGrace: what a save is likely to take is found out in a store as well.
func TestObjectStoreGrace(t *testing.T) {
	f := serveT(t)
	_, lines := runT(t, newToy(), Options{Steps: 1, Checkpoint: bucket + "/ck", Grace: 1})
	if w := named(lines, "warning"); len(w) != 1 || !strings.Contains(w[0]["message"].(string), "estimated from writing") {
		t.Errorf("%v", w)
	}
	if keys := f.Keys(); len(keys) != 3 {
		t.Errorf("left: %v", keys)
	}
}
