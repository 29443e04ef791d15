package subject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Pruned says what Prune removed.
type Pruned struct {
	Trees  int // folders of source trees
	Clones int
	Busy   int // clones left alone because a process uses them
}

// Prune removes from the cache folder every tree whose folder is not in keep
// (absolute, as in Tree.Dir), and every clone of which no tree is left. Clones
// that an open Repository uses are left alone. An absent cache folder is empty.
func Prune(ctx context.Context, cacheDir string, keep []string) (Pruned, error) {
	var pruned Pruned
	clones, err := os.ReadDir(filepath.Join(cacheDir, clonesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return pruned, nil
	}
	if err != nil {
		return pruned, fmt.Errorf("reading the cache folder: %w", err)
	}
	kept, needed := map[string]bool{}, map[string]bool{}
	for _, dir := range keep {
		kept[filepath.Clean(dir)] = true
		if sum, err := readSum(dir); err == nil {
			for _, key := range sum.Clones {
				needed[key] = true
			}
		}
	}
	for _, clone := range clones {
		if err := ctx.Err(); err != nil {
			return pruned, fmt.Errorf("removing from the cache folder: %w", err)
		}
		err := pruneClone(cacheDir, clone.Name(), kept, needed, &pruned)
		if err != nil {
			return pruned, fmt.Errorf("removing from the cache folder: %w", err)
		}
	}
	return pruned, nil
}

// pruneClone removes the trees of one clone that are not kept and, if none is
// left and no kept tree has files from it, the clone.
func pruneClone(cacheDir, key string, kept, needed map[string]bool, pruned *Pruned) (err error) {
	inUse, err := tryAcquire(filepath.Join(cacheDir, locksDir, key+".use"), false)
	if err != nil {
		return err
	}
	if inUse == nil {
		pruned.Busy++
		return nil
	}
	defer joinErrors(&err, inUse.release)
	home := filepath.Join(cacheDir, clonesDir, key)
	entries, err := os.ReadDir(filepath.Join(home, treesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	left := 0
	for _, entry := range entries {
		path := filepath.Join(home, treesDir, entry.Name())
		switch {
		case kept[strings.TrimSuffix(path, sumSuffix)]:
			left++
		case entry.IsDir():
			pruned.Trees++
			if err := os.RemoveAll(stateDir(home, path)); err != nil {
				return err
			}
			fallthrough
		default:
			if err := removeTree(path); err != nil {
				return err
			}
		}
	}
	if left > 0 || needed[key] {
		return removeTree(filepath.Join(home, tmpDir))
	}
	pruned.Clones++
	return removeTree(home)
}
