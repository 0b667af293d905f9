package clustertree

import (
	"errors"
	"slices"
)

// Bounds of servers.
const (
	// MaxServers is how many servers a server knows.
	MaxServers = 256
	maxIP      = 64
	maxAddress = 300
	// maxServer bounds the text of one.
	maxServer = 512
	// serverDigits is the length of an Ed25519 public key in hex.
	serverDigits = 64
)

// Server is where a server answers the others. Its node is named by the key that identifies
// it to them, so the node is never set: a server with another key creates another node.
type Server struct {
	V       int    `json:"v"`
	IP      string `json:"ip"`      // address in the ids of its instances
	Address string `json:"address"` // as https://host:port
}

// DecodeServer reads the value of a server's node.
func DecodeServer(data []byte) (Server, error) {
	var s Server
	if err := decode(data, maxServer, &s, &s.V); err != nil {
		return Server{}, err
	}
	if !s.fits() {
		return Server{}, errors.New("it is not what this release writes")
	}
	return s, nil
}

func (s Server) fits() bool {
	return s.IP != "" && short(s.IP, maxIP) == s.IP && s.Address != "" && short(s.Address, maxAddress) == s.Address
}

// Encode returns the value of the node; nil if DecodeServer would refuse it.
func (s Server) Encode() []byte {
	if !s.fits() {
		return nil
	}
	s.V = version
	return encode(s)
}

// ServerKeys returns those of names, the nodes below that of all servers, that are keys of
// servers; at most MaxServers.
func ServerKeys(names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isHex(name, serverDigits) })
	return names[:min(len(names), MaxServers)]
}
