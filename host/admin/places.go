package admin

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// lifeLength is the length of what tells the lives of servers apart, in bytes.
const lifeLength = 8

// maxPlaces bounds the places in the id of an event.
const maxPlaces = 2 * (maxFollowed + 1)

// place is how many events of one life of a server a client has.
type place struct {
	life string
	n    int64
}

func (p place) String() string { return p.life + "-" + strconv.FormatInt(p.n, 10) }

// parsePlaces reads the id of an event; nil: it is none.
func parsePlaces(id string) []place {
	var all []place
	for text := range strings.SplitSeq(id, ",") {
		life, number, _ := strings.Cut(text, "-")
		n, err := strconv.ParseInt(number, 10, 64)
		p := place{life, n}
		twice := slices.ContainsFunc(all, func(of place) bool { return of.life == life })
		if err != nil || n < 0 || len(life) != lifeLength || p.String() != text || twice || len(all) == maxPlaces {
			return nil
		}
		all = append(all, p)
	}
	return all
}

// places are how far a client has come with each server.
type places struct {
	of map[string]place // by the address of the server
	// left are those of an earlier stream of the client whose server has not said yet that they are its own.
	left []place
}

// reached says that a client has come to a place in the events of a server. A server does not speak for the life
// of another one, whose events would be lost.
func (p *places) reached(address string, to place) {
	for at, one := range p.of {
		if at != address && one.life == to.life {
			return
		}
	}
	p.of[address] = to
	p.left = slices.DeleteFunc(p.left, func(one place) bool { return one.life == to.life })
}

// id is the id of an event with which a client goes on here or at any other server.
func (p *places) id() string {
	var all []string
	for _, address := range slices.Sorted(maps.Keys(p.of)) {
		all = append(all, p.of[address].String())
	}
	for _, one := range p.left[:min(len(p.left), maxPlaces-len(all))] {
		all = append(all, one.String())
	}
	return strings.Join(all, ",")
}
