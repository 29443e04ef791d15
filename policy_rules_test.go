package assay_test

import (
	"fmt"
	"slices"
	"strings"
)

// importGraph is a set of parsed import rules, closed under "may import all
// that it may import".
type importGraph struct {
	may map[string]map[string]bool // package or pattern -> what it may import
}

const everything = "everything"

// parseRules reads rules such as "a, b < c < d; NONE < e".
func parseRules(text string) (importGraph, error) {
	g := importGraph{map[string]map[string]bool{}}
	for rule := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";") {
		if err := g.add(rule); err != nil {
			return g, fmt.Errorf("import rule %q: %w", strings.TrimSpace(rule), err)
		}
	}
	g.close()
	for name, may := range g.may {
		if may[name] {
			return g, fmt.Errorf("import rules: %s may import itself", name)
		}
	}
	return g, nil
}

func (g importGraph) add(rule string) error {
	var below []string
	sides := strings.Split(rule, "<")
	if len(sides) < 2 {
		return fmt.Errorf("no \"<\"")
	}
	for _, side := range sides {
		names := strings.Split(side, ",")
		for i, name := range names {
			names[i] = strings.TrimSpace(name)
			if names[i] == "" || strings.ContainsAny(names[i], " \t\n") {
				return fmt.Errorf("%q is not a name", names[i])
			}
		}
		if below != nil && slices.Contains(names, everything) {
			return fmt.Errorf("%q cannot stand above", everything)
		}
		for _, name := range names {
			if name == "NONE" || name == everything {
				continue
			}
			if g.may[name] == nil {
				g.may[name] = map[string]bool{}
			}
			for _, b := range below {
				if b != "NONE" {
					g.may[name][b] = true
				}
			}
		}
		below = names
	}
	return nil
}

// close writes "everything" out and adds what is reached through others.
func (g importGraph) close() {
	above := map[string]bool{} // all that "everything" reaches upwards
	for changed := true; changed; {
		changed = false
		for name, may := range g.may {
			for b := range may {
				if (b == everything || above[b]) && !above[name] {
					above[name], changed = true, true
				}
			}
		}
	}
	for _, may := range g.may {
		if may[everything] {
			delete(may, everything)
			for other := range g.may {
				if !above[other] {
					may[other] = true
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, may := range g.may {
			for b := range may {
				for deeper := range g.may[b] {
					if !may[deeper] {
						may[deeper], changed = true, true
					}
				}
			}
		}
	}
}

// key is the entry that a package's name falls under: itself, or its folder's
// "/*".
func (g importGraph) key(name string) string {
	if g.may[name] != nil {
		return name
	}
	if at := strings.LastIndex(name, "/"); at >= 0 {
		return name[:at] + "/*"
	}
	return name
}

func (g importGraph) knows(name string) bool { return g.may[g.key(name)] != nil }

func (g importGraph) allows(importer, imported string) bool {
	return g.may[g.key(importer)][g.key(imported)]
}

// reach returns what a package may import, sorted.
func (g importGraph) reach(name string) []string {
	var names []string
	for imported := range g.may[g.key(name)] {
		names = append(names, imported)
	}
	slices.Sort(names)
	return names
}
