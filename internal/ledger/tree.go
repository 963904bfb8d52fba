package ledger

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

// frontier is the right edge of a tree: the roots of the complete subtrees
// that it is made of, one for each bit of its size. It is all that is needed to
// go on.
type frontier struct {
	size uint64
	edge [64]tlog.Hash // edge[b] is valid where bit b of size is set
}

// add appends a leaf, and appends to nodes the roots of the tiles that it
// completes.
func (f *frontier) add(leaf tlog.Hash, nodes []Node) []Node {
	h := leaf
	level := 0
	for ; f.size>>level&1 == 1; level++ {
		h = tlog.NodeHash(f.edge[level], h)
		if (level+1)%8 == 0 {
			nodes = append(nodes, Node{Level: (level + 1) / 8, N: f.size >> (level + 1), Hash: h})
		}
	}
	f.edge[level] = h
	f.size++
	return nodes
}

// addTile appends a complete subtree of 256 leaves to a tree whose size is a
// multiple of 256.
func (f *frontier) addTile(h tlog.Hash, nodes []Node) []Node {
	level := 8
	for ; f.size>>level&1 == 1; level++ {
		h = tlog.NodeHash(f.edge[level], h)
		if (level+1)%8 == 0 {
			nodes = append(nodes, Node{Level: (level + 1) / 8, N: f.size >> (level + 1), Hash: h})
		}
	}
	f.edge[level] = h
	f.size += 256
	return nodes
}

// root is the tree's Merkle tree hash.
func (f *frontier) root() tlog.Hash {
	if f.size == 0 {
		return sha256.Sum256(nil)
	}
	level := bits.TrailingZeros64(f.size)
	h := f.edge[level]
	for level++; f.size>>level != 0; level++ {
		if f.size>>level&1 == 1 {
			h = tlog.NodeHash(f.edge[level], h)
		}
	}
	return h
}

// rootOf is the root over a power of two of hashes. It overwrites nothing.
func rootOf(hashes []tlog.Hash) tlog.Hash {
	row := append([]tlog.Hash(nil), hashes...)
	for len(row) > 1 {
		for i := range len(row) / 2 {
			row[i] = tlog.NodeHash(row[2*i], row[2*i+1])
		}
		row = row[:len(row)/2]
	}
	return row[0]
}

// readFrontier builds the right edge of a tree of size records from the
// store's hashes.
func readFrontier(ctx context.Context, store Reader, log uint32, size uint64) (frontier, error) {
	f := frontier{size: size}
	for level := 0; size>>(8*level) != 0; level++ {
		count := size >> (8 * level)
		from := count &^ 255
		if from == count {
			continue
		}
		row, err := store.Nodes(ctx, log, level, from, count)
		if err != nil {
			return f, fmt.Errorf("hashes %d to %d of level %d: %w", from, count-1, level, err)
		}
		for b := 7; b >= 0; b-- {
			if n := 1 << b; count&uint64(n) != 0 {
				f.edge[8*level+b] = rootOf(row[:n])
				row = row[n:]
			}
		}
	}
	return f, nil
}

// Tree reads the hashes of one stored log, for proofs and tiles. It keeps the
// complete tiles that were read lately. It is safe for concurrent use.
type Tree struct {
	store Reader
	log   uint32

	mu    sync.Mutex
	tiles map[tileID]*list.Element // of tile
	order list.List                // least recently used first
}

type tileID struct {
	level int
	n     uint64
}

type tile struct {
	id     tileID
	hashes []tlog.Hash
}

// maxTiles is how many complete tiles a Tree keeps, of 8 KiB each.
const maxTiles = 64

// NewTree returns a reader of one log's hashes.
func NewTree(store Reader, log uint32) *Tree {
	return &Tree{store: store, log: log, tiles: map[tileID]*list.Element{}}
}

// Tile returns the first width hashes of tile n of a level (C2SP tlog-tiles).
// width is 1 to 256.
func (t *Tree) Tile(ctx context.Context, level int, n uint64, width int) ([]tlog.Hash, error) {
	id := tileID{level, n}
	t.mu.Lock()
	if e := t.tiles[id]; e != nil {
		t.order.MoveToBack(e)
		t.mu.Unlock()
		return e.Value.(tile).hashes[:width], nil
	}
	t.mu.Unlock()
	hashes, err := t.store.Nodes(ctx, t.log, level, n*256, n*256+uint64(width))
	if err != nil {
		return nil, fmt.Errorf("tile %d of level %d: %w", n, level, err)
	}
	if len(hashes) != width {
		return nil, fmt.Errorf("tile %d of level %d has %d hashes, not %d", n, level, len(hashes), width)
	}
	if width < 256 {
		return hashes, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tiles[id] == nil {
		t.tiles[id] = t.order.PushBack(tile{id, hashes})
		if t.order.Len() > maxTiles {
			delete(t.tiles, t.order.Remove(t.order.Front()).(tile).id)
		}
	}
	return hashes, nil
}

// reader reads hashes of the tree of size records, for tlog's proofs.
func (t *Tree) reader(ctx context.Context, size uint64) tlog.HashReader {
	rows := map[tileID][]tlog.Hash{} // incomplete tiles are not kept by Tile
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			level, n := tlog.SplitStoredHashIndex(index)
			height := level % 8
			first := uint64(n) << height // in its tile's level
			inTile := int(first & 255)
			width := min(256, size>>(level-height)-first&^255)
			if uint64(inTile)+1<<height > width {
				return nil, errors.New("the tree is too small for this hash")
			}
			id := tileID{level / 8, first / 256}
			row := rows[id]
			if row == nil {
				var err error
				if row, err = t.Tile(ctx, id.level, id.n, int(width)); err != nil {
					return nil, err
				}
				rows[id] = row
			}
			out[i] = rootOf(row[inTile : inTile+1<<height])
		}
		return out, nil
	})
}

// Root returns the root of the tree as it was when it had size records.
func (t *Tree) Root(ctx context.Context, size uint64) (tlog.Hash, error) {
	return tlog.TreeHash(int64(size), t.reader(ctx, size))
}

// ProveRecord returns the proof that record index is in the tree of size records.
func (t *Tree) ProveRecord(ctx context.Context, size, index uint64) (tlog.RecordProof, error) {
	return tlog.ProveRecord(int64(size), int64(index), t.reader(ctx, size))
}

// ProveTree returns the proof that the tree of size records continues that of
// old records.
func (t *Tree) ProveTree(ctx context.Context, size, old uint64) (tlog.TreeProof, error) {
	return tlog.ProveTree(int64(size), int64(old), t.reader(ctx, size))
}
