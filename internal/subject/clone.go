package subject

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The cache folder holds, for each repository (KEY: hash of the path of its git
// folder and of its object format):
//
//	clones/KEY/objects/      objects that assay made
//	clones/KEY/git/          bare clone that borrows these and the repository's
//	clones/KEY/trees/ID/     files of one tree, ID 40 hexadecimal digits
//	clones/KEY/trees/ID.sum  what was checked out: present only if it is complete
//	clones/KEY/tmp/          what is being made, and scratch copies
//	locks/KEY.use            held shared while a Repository is open
//	locks/KEY.make           held while the clone or a tree is changed
const (
	clonesDir = "clones"
	locksDir  = "locks"
	treesDir  = "trees"
	tmpDir    = "tmp"
	ownDir    = "objects"
	gitDir    = "git"
	sumSuffix = ".sum"
)

// digest40 names things by 40 hexadecimal digits, so that all paths of a kind
// are equally long.
func digest40(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:20])
}

// prepareClone makes the clone if there is none or it is damaged, and brings what
// it borrows up to date.
//
// Note: `git clone --shared` would do, but it copies refs that then go stale and
// keep nothing alive; an empty repository with info/alternates sees every object
// of the user's repository, new ones included.
func (r *Repository) prepareClone(ctx context.Context) (err error) {
	key := digest40(r.commonDir, r.format)
	r.home = filepath.Join(r.cacheDir, clonesDir, key)
	r.cache = r.plain.isolated().in(r.Clone())
	if err := os.MkdirAll(filepath.Join(r.cacheDir, locksDir), 0o755); err != nil {
		return fmt.Errorf("making the cache folder: %w", err)
	}
	if r.inUse, err = acquire(ctx, r.lockPath("use"), true); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			joinErrors(&err, r.inUse.release)
		}
	}()
	unlock, err := r.change(ctx)
	if err != nil {
		return err
	}
	defer joinErrors(&err, unlock)
	for _, dir := range []string{treesDir, tmpDir, filepath.Join(ownDir, "pack")} {
		if err := os.MkdirAll(filepath.Join(r.home, dir), 0o755); err != nil {
			return fmt.Errorf("making the cache folder: %w", err)
		}
	}
	if format, err := r.cache.line(ctx, "rev-parse", "--show-object-format"); err != nil || format != r.format {
		if err := r.makeClone(ctx); err != nil {
			return err
		}
	}
	return r.borrow(ctx)
}

func (r *Repository) own() string { return filepath.Join(r.home, ownDir) }

// writing returns g for a command that stores objects: it sees and writes only
// those that assay made.
//
// Note: git gives an object that it is to store and finds borrowed a new time,
// which would change files in the user's `.git`.
func (r *Repository) writing(g git) git { return g.with("GIT_OBJECT_DIRECTORY=" + r.own()) }

func (r *Repository) lockPath(kind string) string {
	return filepath.Join(r.cacheDir, locksDir, filepath.Base(r.home)+"."+kind)
}

// change takes the right to change the clone and its trees.
func (r *Repository) change(ctx context.Context) (unlock func() error, err error) {
	l, err := acquire(ctx, r.lockPath("make"), false)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// makeClone makes an empty clone in place of what is there.
func (r *Repository) makeClone(ctx context.Context) (err error) {
	made, err := os.MkdirTemp(filepath.Join(r.home, tmpDir), "clone")
	if err != nil {
		return fmt.Errorf("making the clone: %w", err)
	}
	defer joinErrors(&err, func() error { return os.RemoveAll(made) })
	isolated := r.plain.isolated()
	if _, err := isolated.run(ctx, call{args: []string{"init", "--quiet", "--bare", "--template=", "--object-format=" + r.format, "--initial-branch=assay", made}}); err != nil {
		return fmt.Errorf("making the clone of %s: %w", r.commonDir, err)
	}
	// A reviewer fetches commits of snapshots and derived trees by their id.
	for _, setting := range [][2]string{{"uploadpack.allowAnySHA1InWant", "true"}, {"gc.auto", "0"}} {
		if _, err := isolated.in(made).run(ctx, call{args: []string{"config", setting[0], setting[1]}}); err != nil {
			return fmt.Errorf("configuring the clone of %s: %w", r.commonDir, err)
		}
	}
	if err := replaceDir(made, r.Clone(), filepath.Join(r.home, tmpDir)); err != nil {
		return fmt.Errorf("making the clone of %s: %w", r.commonDir, err)
	}
	return nil
}

// borrow points the clone at the objects and the shallow boundary of the
// repository as they are now.
func (r *Repository) borrow(ctx context.Context) error {
	objects, err := r.user.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return fmt.Errorf("finding the objects of %s: %w", r.commonDir, err)
	}
	info := filepath.Join(r.Clone(), "objects", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return fmt.Errorf("making the clone of %s: %w", r.commonDir, err)
	}
	if err := r.put(filepath.Join(info, "alternates"), []byte(quoteAlternate(filepath.ToSlash(r.own()))+"\n"+quoteAlternate(objects)+"\n")); err != nil {
		return err
	}
	boundary, err := os.ReadFile(filepath.Join(r.commonDir, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(filepath.Join(r.Clone(), "shallow"))
	} else if err == nil {
		err = r.put(filepath.Join(r.Clone(), "shallow"), boundary)
	}
	if err != nil {
		return fmt.Errorf("reading the shallow boundary of %s: %w", r.commonDir, err)
	}
	return nil
}

// quoteAlternate writes a path as a line of info/alternates, where a line that
// starts with a quote is read as a C string (git: gitrepository-layout).
func quoteAlternate(path string) string {
	if strings.ContainsAny(path, "\n\"") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
	}
	return path
}

// put replaces a file of the cache if its content differs.
func (r *Repository) put(path string, content []byte) error {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, content) {
		return nil
	}
	temporary := filepath.Join(r.home, tmpDir, rand.Text())
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// replaceDir puts the folder made in the place of dir. What was there is moved to
// a folder of its own in tmp first and then removed, so that dir is never half of
// either.
func replaceDir(made, dir, tmp string) error {
	old := filepath.Join(tmp, rand.Text())
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(made, dir); err != nil {
		return err
	}
	return removeTree(old)
}

// removeTree removes a folder, read-only subfolders included.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
	return errors.Join(err, os.RemoveAll(dir))
}
