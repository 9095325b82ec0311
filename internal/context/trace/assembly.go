package trace

import (
	"fmt"

	"ctxfs/internal/swap"
)

// AssemblyID names the assembly of a context's pack for its target.
func AssemblyID(ctx, target string) string { return id("assembly", ctx, target) }

// ShownID names the assembly of other bytes that were shown in a context.
func ShownID(ctx, target, hash string) string { return id("assembly", ctx, target, hash) }

// assembly writes assembly.json: the pack, block by block. Assemblies of other things that were shown stand in its metadata.
func (b *builder) assembly() error {
	md := b.in.Pack.Markdown
	a := Assembly{AssemblyID: AssemblyID(b.ctx, b.in.Target), Target: b.in.Target, Blocks: []Block{}, Wrapping: "markdown_fences_longer_than_any_run_inside",
		Separator: "markdown_headings", Visibility: []string{b.in.Target}, BudgetRef: id("budget", b.ctx), ItemRefs: list(b.chosen), RedactionState: "none",
		ContentRef: b.in.File, Hash: swap.Sum(md).String(), CreatedAt: b.in.Created}
	for i := range b.in.Pack.Items {
		p := &b.in.Pack.Items[i]
		text := md[min(p.Start, len(md)):min(p.End, len(md))]
		blk := Block{BlockID: id("block", b.ctx, fmt.Sprint(i)), ItemRefs: []string{b.chosen[i]}, ContentRef: b.in.File, Selector: bytesOf(int64(p.Start), int64(p.End)),
			Wrapper: "fence", Position: i, Visibility: b.targets(p.Kind), Tokens: p.Tokens, Hash: swap.Sum(text).String(), RedactionState: "none"}
		if len(p.Masked) > 0 {
			blk.RedactionState, a.RedactionState = "masked", "masked"
		}
		a.Blocks = append(a.Blocks, blk)
	}
	var related []Assembly
	for _, x := range b.in.Injections {
		if x.ContextID == b.ctx {
			b.shown = append(b.shown, x)
			if x.AssemblyID != a.AssemblyID {
				related = append(related, b.shownAssembly(x))
			}
		}
	}
	if related != nil {
		a.Metadata = map[string]any{"other_assemblies": related}
	}
	b.asm = a
	return b.one("assembly.json", a)
}

// shownAssembly is that of bytes beside the pack which an injection showed, as a resource to a tool.
func (b *builder) shownAssembly(x Injection) Assembly {
	return Assembly{AssemblyID: x.AssemblyID, Target: x.Target, Visibility: list(x.Visibility), ItemRefs: []string{}, RedactionState: "unknown", Wrapping: "none", Separator: "none",
		ContentRef: x.FinalRef, Hash: x.Hash, CreatedAt: x.CreatedAt, Blocks: []Block{{BlockID: id("block", x.AssemblyID), ItemRefs: []string{}, ContentRef: x.FinalRef,
			Selector: Selector{Type: "custom", Value: "whole"}, Wrapper: "none", Visibility: list(x.Visibility), Hash: x.Hash, RedactionState: "unknown"}}}
}

// injections writes injections.jsonl: where this context was made visible, as far as somebody declared it.
func (b *builder) injections() error {
	b.files["injections.jsonl"] = lines(b.shown)
	return nil
}

// redactions writes redactions.jsonl: which secrets are masked, by rule, never what they are.
func (b *builder) redactions() error {
	for i := range b.in.Pack.Items {
		p := &b.in.Pack.Items[i]
		for _, m := range p.Masked {
			b.masked = append(b.masked, Redacted{RedactionID: id("redaction", b.ctx, b.chosen[i], m.Rule), State: "masked", Method: "rule:" + m.Rule, Fields: []string{"content"},
				PolicyRefs: list(b.in.PolicyRefs), ActorRef: Ref{"service", "ctxfs"}, ItemRef: b.chosen[i], BlockRef: id("block", b.ctx, fmt.Sprint(i)), Count: m.Count, CreatedAt: b.in.Created})
			b.all[i].RedactionState, b.all[i].Sensitivity = "masked", "secret"
		}
	}
	b.files["redactions.jsonl"] = lines(b.masked)
	return nil
}
