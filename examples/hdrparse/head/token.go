package hdrparse

// Tokenize returns the Token of a field name in any case, NoToken if it is not
// a standard name.
func Tokenize(name []byte) Token {
	end, hash := scanName(name, 0)
	if end != len(name) {
		return NoToken
	}
	return known.find(name, hash)
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

// scanName reads the field name at pos: it returns the offset of the first byte
// that is no character of a name, and FNV-1a over the name in lower case.
func scanName(data []byte, pos int) (end int, hash uint32) {
	hash = hashSeed
	for ; pos < len(data); pos++ {
		c := folded[data[pos]]
		if c == 0 {
			break
		}
		hash = (hash ^ uint32(c)) * hashPrime
	}
	return pos, hash
}

// index is a hash table over names with linear probing.
type index struct {
	slot [512]Token
	hash [Tokens]uint32 // by Token
}

// known is read only once it is built.
var known = func() (x index) {
	for t := NoToken + 1; t < Tokens; t++ {
		_, x.hash[t] = scanName([]byte(names[t]), 0)
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
		if t == NoToken || x.hash[t] == hash && isName(name, names[t]) {
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

// sameName compares names without regard to case. One of them is valid.
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
