package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/internal/harness"
	"assay/internal/plan"
	"assay/internal/result"
)

// List asks every artifact for its benchmarks by running each once. A benchmark
// that crashes or hangs is blamed by name and left out of the next try; a
// package whose worker never answers fails as a whole.
func (s *Session) List(ctx context.Context, draft result.Draft, artifacts []result.Artifact) ([]plan.Listing, error) {
	var out []plan.Listing
	for _, artifact := range artifacts {
		if artifact.Failure != nil {
			out = append(out, plan.Listing{Arm: artifact.Arm, Package: artifact.Package, Failed: []result.Failure{{
				Arm: artifact.Arm, Package: artifact.Package, Reason: result.FailBuild, Text: artifact.Failure.Text}}})
			continue
		}
		internal, external := declared(draft, artifact)
		for _, side := range []struct {
			external bool
			names    []string
		}{{false, internal}, {true, external}} {
			if len(side.names) == 0 {
				continue
			}
			listing, err := s.list(ctx, draft, artifact, side.external)
			if err != nil {
				return nil, err
			}
			out = append(out, listing)
		}
	}
	return out, nil
}

// declared returns the benchmark functions of the artifact's recipe.
func declared(draft result.Draft, artifact result.Artifact) (internal, external []string) {
	for _, r := range draft.Recipes {
		if r.Arm == artifact.Arm && r.Package == artifact.Package {
			return r.Internal, r.External
		}
	}
	return nil, nil
}

func (s *Session) list(ctx context.Context, draft result.Draft, artifact result.Artifact, external bool) (plan.Listing, error) {
	listing := plan.Listing{Arm: artifact.Arm, Package: artifact.Package, External: external}
	var skip []string
	for {
		reply, err := s.listOnce(ctx, draft, artifact, external, skip)
		addListed(&listing, reply.Listed)
		if err == nil {
			return listing, nil
		}
		failure := (*slotFailure)(nil)
		if !errors.As(err, &failure) {
			return listing, fmt.Errorf("listing the benchmarks of %s on arm %s: %w", artifact.Package, artifact.Arm, err)
		}
		record := result.Failure{Arm: artifact.Arm, Package: artifact.Package, Reason: failure.reason, Text: failure.text}
		if reply.Name == "" || slices.Contains(skip, reply.Name) {
			listing.Failed = append(listing.Failed, record)
			return listing, nil
		}
		record.ID = plan.CaseIDOf(artifact.Package, reply.Name)
		listing.Failed = append(listing.Failed, record)
		skip = append(skip, reply.Name)
	}
}

// listOnce starts a worker and asks it once. On failure the reply names the
// benchmark that was running.
func (s *Session) listOnce(ctx context.Context, draft result.Draft, artifact result.Artifact, external bool, skip []string) (harness.Reply, error) {
	state, err := s.start(ctx, request{arm: artifact.Arm, artifact: artifact, external: external, cpus: draft.CPUs, pilot: true})
	if state != nil {
		defer state.worker.Close()
	}
	if err != nil {
		return harness.Reply{}, err
	}
	if s.Progress != nil {
		s.Progress(Event{Stage: "list", Case: artifact.Package})
	}
	return s.call(ctx, state, harness.Request{Op: harness.OpList, Skip: skip}, s.limit())
}

// addListed sorts the answers of a worker into the listing.
func addListed(listing *plan.Listing, listed []harness.Listed) {
	for _, l := range listed {
		switch {
		case l.Failed != "":
			listing.Failed = append(listing.Failed, result.Failure{Arm: listing.Arm, Package: listing.Package,
				ID: plan.CaseIDOf(listing.Package, l.Name), Reason: result.FailBench, Text: l.Failed})
		case l.Skip:
			listing.Skipped = append(listing.Skipped, l.Name)
		default:
			listing.Names = append(listing.Names, l.Name)
		}
	}
}
