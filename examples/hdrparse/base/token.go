package hdrparse

// Tokenize returns the Token of a field name in any case, NoToken if it is not
// a standard name.
func Tokenize(name []byte) Token {
	return known.find(name, hashName(name))
}

// TokenizeLower is Tokenize for names that must be in lower case, as HTTP/2 and
// HTTP/3 send them (RFC 9113 section 8.2.1): other spellings give NoToken.
func TokenizeLower(name []byte) Token {
	t := Tokenize(name)
	if string(name) != names[t] {
		return NoToken
	}
	return t
}

// Start value and multiplier of FNV-1a, 32 bits (RFC 9923).
const (
	hashSeed  uint32 = 2166136261
	hashPrime uint32 = 16777619
)

// hashName is FNV-1a over the name in lower case.
func hashName(name []byte) uint32 {
	hash := hashSeed
	for _, c := range name {
		hash = (hash ^ uint32(folded[c])) * hashPrime
	}
	return hash
}

// hashToColon returns the offset of the first colon from pos on, len(data) if
// there is none, and hashName of what stands before it.
func hashToColon(data []byte, pos int) (colon int, hash uint32) {
	hash = hashSeed
	for ; pos < len(data) && data[pos] != ':'; pos++ {
		hash = (hash ^ uint32(folded[data[pos]])) * hashPrime
	}
	return pos, hash
}

// folded is lower as a table.
var folded = func() (table [256]byte) {
	for c := range table {
		table[c] = lower(byte(c))
	}
	return table
}()

// index is a hash table over names with linear probing.
type index struct {
	slot [512]Token
	hash [Tokens]uint32 // by Token
}

// known is read only once it is built.
var known = func() (x index) {
	for t := NoToken + 1; t < Tokens; t++ {
		x.hash[t] = hashName([]byte(names[t]))
		at := x.hash[t] % uint32(len(x.slot))
		for x.slot[at] != NoToken {
			at = (at + 1) % uint32(len(x.slot))
		}
		x.slot[at] = t
	}
	return x
}()

func (x *index) find(name []byte, hash uint32) Token {
	for at := hash; ; at++ {
		t := x.slot[at%uint32(len(x.slot))]
		if t == NoToken || isName(name, names[t]) {
			return t
		}
	}
}

// isName compares a name in any case with one in lower case.
func isName(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if folded[c] != lower[i] {
			return false
		}
	}
	return true
}

// sameName compares names without regard to case.
func sameName(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if folded[a[i]] != folded[b[i]] {
			return false
		}
	}
	return true
}
