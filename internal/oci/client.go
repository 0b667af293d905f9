package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
)

// Media types in an artifact. Other tools write the older types of a layer.
const (
	configType   = "application/vnd.wasm.config.v0+json"
	layerType    = "application/wasm"
	layerOfTrivy = "application/vnd.module.wasm.content.layer.v1+wasm"
	layerOfSpin  = "application/vnd.wasm.content.layer.v1+wasm"
	signedBy     = "org.wasmjob.signature.minisign" // an annotation of the layer
	maxManifest  = 64 << 10
)

// Module is what an artifact holds.
type Module struct {
	Wasm      []byte
	Signature []byte // its text; nil: there is none
}

// Client pulls modules from registries, and pushes them there.
type Client struct {
	Limit        int64 // bytes of a module
	MaxSignature int   // bytes of a signature
	// CA is a file with certificates in PEM that are trusted beside those of the system; "": none.
	CA string
	// Credential returns the credential for a registry; nil: anonymous.
	Credential func(host string) (Credential, error)
}

// Pull fetches a module. at is ref with the digest of the fetched manifest.
func (c Client) Pull(ctx context.Context, ref Reference) (m Module, at Reference, err error) {
	repo, done, err := c.repository(ctx, ref)
	if err != nil {
		return m, ref, err
	}
	defer done()
	manifest, pinned, err := c.manifest(ctx, repo, ref)
	if err != nil {
		return m, ref, c.failed("pull", ref, err)
	}
	layer, err := c.layer(manifest)
	if err != nil {
		return m, ref, c.failed("pull", ref, err)
	}
	m.Signature = []byte(layer.Annotations[signedBy])
	if m.Wasm, err = content.FetchAll(ctx, repo.Blobs(), layer); err != nil {
		return Module{}, ref, c.failed("pull", ref, err)
	}
	at = ref
	at.Digest = pinned
	return m, at, nil
}

// manifest fetches the manifest of a reference, and returns its digest, which is that of the reference if
// it has one.
func (c Client) manifest(ctx context.Context, repo *remote.Repository, ref Reference) (m ocispec.Manifest, found string, err error) {
	wanted := ref.Digest
	if wanted == "" {
		wanted = ref.Tag
	}
	desc, body, err := repo.Manifests().FetchReference(ctx, wanted)
	if err != nil {
		return m, "", fmt.Errorf("ask for its manifest: %w", err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	switch {
	case desc.Size > maxManifest:
		return m, "", fmt.Errorf("its manifest has %d bytes, the limit is %d", desc.Size, maxManifest)
	case desc.MediaType != ocispec.MediaTypeImageManifest:
		return m, "", fmt.Errorf("it has the type %.100q; only an artifact with one manifest can be pulled", desc.MediaType)
	}
	text, err := content.ReadAll(body, desc)
	if err != nil {
		return m, "", fmt.Errorf("read its manifest: %w", err)
	}
	found = digest.FromBytes(text).String()
	if ref.Digest != "" && found != ref.Digest {
		return m, "", fmt.Errorf("its manifest has another digest, %s", found)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, "", fmt.Errorf("read its manifest: %w", err)
	}
	return m, found, nil
}

// layer returns the one layer of an artifact with a module, and checks its limits.
func (c Client) layer(m ocispec.Manifest) (ocispec.Descriptor, error) {
	if len(m.Layers) != 1 {
		return ocispec.Descriptor{}, fmt.Errorf("it has %d layers; an artifact with a module has one", len(m.Layers))
	}
	layer := m.Layers[0]
	switch layer.MediaType {
	case layerType, layerOfTrivy, layerOfSpin:
	default:
		return layer, fmt.Errorf("its layer has the type %.100q, which is not a type of modules", layer.MediaType)
	}
	if layer.Size < 0 || layer.Size > c.Limit {
		return layer, fmt.Errorf("the module has %d bytes, the limit is %d", layer.Size, c.Limit)
	}
	if len(layer.Annotations[signedBy]) > c.MaxSignature {
		return layer, fmt.Errorf("the signature has more than %d bytes", c.MaxSignature)
	}
	if err := layer.Digest.Validate(); err != nil {
		return layer, fmt.Errorf("its layer: %w", err)
	}
	return layer, nil
}

// wasmConfig is the configuration of an artifact with a module.
type wasmConfig struct {
	Architecture string          `json:"architecture"`
	OS           string          `json:"os"`
	Layers       []digest.Digest `json:"layerDigests"`
}

// Push creates an artifact with a module under the tag of ref, and returns ref with its digest. The
// same module gives the same artifact.
func (c Client) Push(ctx context.Context, ref Reference, m Module) (Reference, error) {
	if ref.Tag == "" || ref.Digest != "" {
		return ref, fmt.Errorf("push to %s: write a tag without a digest; the push prints the digest", ref)
	}
	repo, done, err := c.repository(ctx, ref)
	if err != nil {
		return ref, err
	}
	defer done()
	layer := content.NewDescriptorFromBytes(layerType, m.Wasm)
	if len(m.Signature) > 0 {
		layer.Annotations = map[string]string{signedBy: string(m.Signature)}
	}
	// Nothing in the artifact depends on the time, so that the same module gives the same artifact.
	about, err := json.Marshal(wasmConfig{"wasm", "wasip1", []digest.Digest{layer.Digest}})
	if err != nil {
		return ref, fmt.Errorf("push to %s: %w", ref, err)
	}
	config := content.NewDescriptorFromBytes(configType, about)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: []ocispec.Descriptor{layer},
	})
	if err != nil {
		return ref, fmt.Errorf("push to %s: %w", ref, err)
	}
	for _, blob := range []struct {
		desc ocispec.Descriptor
		data []byte
	}{{layer, m.Wasm}, {config, about}} {
		if has, err := repo.Blobs().Exists(ctx, blob.desc); err != nil {
			return ref, c.failed("push to", ref, err)
		} else if has {
			continue
		}
		if err := repo.Blobs().Push(ctx, blob.desc, bytes.NewReader(blob.data)); err != nil {
			return ref, c.failed("push to", ref, err)
		}
	}
	desc := content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, manifest)
	if err := repo.Manifests().PushReference(ctx, desc, bytes.NewReader(manifest), ref.Tag); err != nil {
		return ref, c.failed("push to", ref, err)
	}
	ref.Digest = desc.Digest.String()
	return ref, nil
}
