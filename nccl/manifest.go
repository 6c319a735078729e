package nccl

import (
	"encoding/json"
	"io"
	"path"
	"strings"
)

// maxManifest bounds the size of a manifest, which has a few hundred bytes.
const maxManifest = 64 << 10

// addAddresses sets the Address of the logs that a manifest in the same folder names: each rank of
// the built-in training leaves one (rank3.json). Other JSON files are ignored.
func addAddresses(sources []Source) {
	var byName map[string]*Source
	for _, src := range sources {
		if !strings.HasSuffix(src.Name, ".json") || src.Size > maxManifest {
			continue
		}
		var manifest struct {
			NCCLFile string `json:"ncclFile"`
			NodeIP   string `json:"nodeIp"`
		}
		if !readJSON(src, &manifest) || manifest.NCCLFile == "" {
			continue
		}
		if byName == nil {
			byName = make(map[string]*Source, len(sources))
			for i := range sources {
				byName[sources[i].Name] = &sources[i]
			}
		}
		log := strings.TrimSuffix(src.Name, path.Base(src.Name)) + manifest.NCCLFile
		if named := byName[log]; named != nil {
			named.Address = manifest.NodeIP
		}
	}
}

// readJSON decodes a small source. Its problems are reported when it is judged as a log.
func readJSON(src Source, v any) bool {
	r, err := src.Open()
	if err != nil {
		return false
	}
	defer r.Close() //nolint:errcheck // it was only read
	return json.NewDecoder(io.LimitReader(r, maxManifest)).Decode(v) == nil
}
