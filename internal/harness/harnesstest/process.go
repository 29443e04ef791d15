package harnesstest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/harness"
	"assay/internal/result"
)

// limit ends a worker that does not answer; no test waits that long when it passes.
const limit = 60 * time.Second

// Exec is a harness.Exec that starts the command.
func Exec(ctx context.Context, cmd result.Command) (stdout, stderr []byte, err error) {
	if len(cmd.Argv) == 0 {
		return nil, nil, errors.New("running a command: it is empty")
	}
	process := exec.CommandContext(ctx, cmd.Argv[0], cmd.Argv[1:]...)
	process.Dir = cmd.Dir
	process.Env = append(os.Environ(), cmd.Env...)
	var out, errs bytes.Buffer
	process.Stdout, process.Stderr = &out, &errs
	err = process.Run()
	return out.Bytes(), errs.Bytes(), err
}

// Tree is the tree in a folder of this machine.
func Tree(dir string) harness.Tree {
	return harness.Tree{Dir: dir, FS: os.DirFS(dir), Exec: Exec}
}

// RecipeOf is the recipe that builds a unit of a tree, trimmed.
func RecipeOf(tree harness.Tree, layout harness.Layout, unit harness.Unit) result.Recipe {
	return result.Recipe{
		Harness: layout.Harness, Dir: tree.Dir, Package: unit.Package, PackageDir: unit.Dir, ModuleDir: unit.ModuleDir,
		Internal: unit.Internal, External: unit.External, LeftOut: unit.LeftOut, Language: unit.Language,
		Tags: layout.Tags, Env: layout.Env, Settings: layout.Settings, Trimmed: true,
	}
}

// Build builds a recipe in a folder of the test's own. A failed build is not a
// failure of the test: artifact.Failure says what the tools said.
func Build(t testing.TB, adapter harness.Adapter, recipe result.Recipe) result.Artifact {
	t.Helper()
	dir := t.TempDir()
	artifact := result.Artifact{
		Package: recipe.Package, PackageDir: recipe.PackageDir, Path: filepath.Join(dir, "artifact"),
		RunDir: filepath.Join(recipe.Dir, filepath.FromSlash(recipe.PackageDir)),
	}
	commands, files, err := adapter.Build(recipe, artifact.Path)
	if err != nil {
		t.Fatalf("build commands of %s: %v", recipe.Package, err)
	}
	overlay := writeOverlay(t, dir, recipe.Dir, files)
	for _, command := range commands {
		for i, arg := range command.Argv {
			arg = strings.ReplaceAll(arg, harness.OverlayArg, overlay)
			command.Argv[i] = strings.ReplaceAll(arg, harness.OutputArg, artifact.Path)
		}
		artifact.Commands = append(artifact.Commands, command)
		if stdout, stderr, err := Exec(t.Context(), command); err != nil {
			text := string(stdout) + string(stderr)
			artifact.Failure = &result.BuildFailure{Text: text, Missing: adapter.Diagnose(text)}
			return artifact
		}
	}
	if info, err := os.Stat(artifact.Path); err != nil || info.Size() == 0 {
		t.Fatalf("build of %s made no artifact: %v", recipe.Package, err)
	}
	return artifact
}

// writeOverlay writes the files and their description in the form of the go
// command's -overlay flag, and returns the description's path.
func writeOverlay(t testing.TB, dir, tree string, files []result.OverlayFile) string {
	t.Helper()
	replace := map[string]string{}
	for i, file := range files {
		target := ""
		if file.Content != nil {
			target = filepath.Join(dir, fmt.Sprintf("overlay%d", i))
			if err := os.WriteFile(target, file.Content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		replace[filepath.Join(tree, filepath.FromSlash(file.Path))] = target
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// Worker is a running worker process.
type Worker struct {
	process  *exec.Cmd
	requests *os.File
	replies  *bufio.Reader
	output   *bytes.Buffer
	exited   chan error
}

// Start starts a worker in a process group of its own; the test's end kills it.
// extra is added to the environment.
func Start(t testing.TB, command result.Command, extra ...string) *Worker {
	t.Helper()
	requestsRead, requestsWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	repliesRead, repliesWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{requests: requestsWrite, replies: bufio.NewReaderSize(repliesRead, 1<<20), output: &bytes.Buffer{}, exited: make(chan error, 1)}
	w.process = exec.Command(command.Argv[0], command.Argv[1:]...)
	w.process.Dir = command.Dir
	w.process.Env = append(append(os.Environ(), command.Env...), extra...)
	w.process.Stdout, w.process.Stderr = w.output, w.output
	w.process.ExtraFiles = []*os.File{requestsRead, repliesWrite} // descriptors 3 and 4
	setGroup(w.process)
	if err := w.process.Start(); err != nil {
		t.Fatal(err)
	}
	for _, file := range w.process.ExtraFiles {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	go func() { w.exited <- w.process.Wait() }()
	watchdog := time.AfterFunc(limit, w.Kill)
	t.Cleanup(func() {
		watchdog.Stop()
		w.Kill()
		// The pipes may be closed already, and nobody reads them any more.
		_ = requestsWrite.Close()
		_ = repliesRead.Close()
	})
	return w
}

// Hello reads the worker's first line. io.EOF: it ended without one.
func (w *Worker) Hello() error {
	reply, err := w.Reply()
	if err == nil && reply.Hello != harness.WorkerProtocol {
		err = fmt.Errorf("the worker's first line says %q and error %q", reply.Hello, reply.Error)
	}
	return err
}

// Reply reads one line of the worker.
func (w *Worker) Reply() (harness.Reply, error) {
	var reply harness.Reply
	text, err := w.replies.ReadBytes('\n')
	if err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(text, &reply)
}

// Send writes one request.
func (w *Worker) Send(request harness.Request) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	_, err = w.requests.Write(append(text, '\n'))
	return err
}

// Ask sends a request and reads the reply to it, with the names that progress
// lines before it gave.
func (w *Worker) Ask(request harness.Request) (reply harness.Reply, progress []string, err error) {
	if err := w.Send(request); err != nil {
		return reply, nil, err
	}
	for {
		if reply, err = w.Reply(); err != nil || !reply.Progress {
			return reply, progress, err
		}
		progress = append(progress, reply.Name)
	}
}

// EndRequests closes the requests, at whose end the worker ends.
func (w *Worker) EndRequests() error { return w.requests.Close() }

// Close ends the requests and waits: the worker's exit error, nil for status 0.
func (w *Worker) Close() error {
	if err := w.EndRequests(); err != nil {
		return err
	}
	return w.Wait()
}

// Wait waits for the worker to end by itself.
func (w *Worker) Wait() error {
	err := <-w.exited
	w.exited <- err
	return err
}

// Kill ends the worker and its whole process group.
func (w *Worker) Kill() {
	killGroup(w.process)
	_ = w.Wait() // how a killed process ends says nothing
}

// Output is what the ended worker printed to its standard output and error.
func (w *Worker) Output() string { return w.output.String() }
