package trace

import "encoding/json"

// Ref names something of a kind elsewhere: an actor, a runtime's object.
type Ref struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Envelope is a context_envelope (specification, "Context envelope").
type Envelope struct {
	SchemaVersion  string   `json:"schema_version"`
	ContextID      string   `json:"context_id"`
	Scope          string   `json:"scope"`
	Lifecycle      string   `json:"lifecycle"`
	CreatedAt      string   `json:"created_at"`
	Producer       Producer `json:"producer"`
	ActorRefs      []Ref    `json:"actor_refs"`
	RuntimeRefs    []Ref    `json:"runtime_refs"`
	SurfaceRefs    []string `json:"surface_refs"`
	ItemRefs       []string `json:"item_refs"`
	SelectionRefs  []string `json:"selection_refs"`
	BudgetRef      string   `json:"budget_ref"`
	AssemblyRefs   []string `json:"assembly_refs"`
	InjectionRefs  []string `json:"injection_refs"`
	CompactionRefs []string `json:"compaction_refs"`
	MissingRefs    []string `json:"missing_context_refs"`
	PolicyRefs     []string `json:"policy_refs"`
	EvidenceRefs   []string `json:"evidence_refs"`
	ArtifactRefs   []string `json:"artifact_refs,omitempty"`
	ToolRefs       []string `json:"tool_refs,omitempty"`
	TelemetryRefs  []Ref    `json:"telemetry_refs"`
}

// Producer is what made a record.
type Producer struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
}

// Surface is a context_surface: what was available before selection (contracts, "Context surface").
type Surface struct {
	SurfaceID   string         `json:"surface_id"`
	SurfaceKind string         `json:"surface_kind"`
	Scope       string         `json:"scope"`
	Producer    Producer       `json:"producer"`
	SourceRefs  []string       `json:"available_source_refs"`
	ItemRefs    []string       `json:"available_item_refs"`
	Capability  []string       `json:"capability_refs"`
	PolicyRefs  []string       `json:"policy_refs"`
	Visibility  []string       `json:"visibility"`
	CreatedAt   string         `json:"created_at"`
	Metadata    map[string]any `json:"metadata"`
}

// Item is a context_item (specification, "Context items").
type Item struct {
	ItemID         string         `json:"item_id"`
	Kind           string         `json:"context_kind"`
	Title          string         `json:"title"`
	Mode           string         `json:"content_mode"`
	ContentRef     string         `json:"content_ref"`
	MimeType       string         `json:"mime_type"`
	SourceRefs     []string       `json:"source_refs"`
	Tokens         int            `json:"token_estimate"`
	Bytes          int            `json:"byte_size,omitempty"`
	Freshness      *Freshness     `json:"freshness,omitempty"`
	Trust          string         `json:"trust_level,omitempty"`
	Sensitivity    string         `json:"sensitivity,omitempty"`
	RedactionState string         `json:"redaction_state"`
	Visibility     []string       `json:"visibility"`
	Priority       float64        `json:"priority"`
	CreatedAt      string         `json:"created_at,omitempty"`
	Metadata       map[string]any `json:"metadata"`
}

// Freshness is when an item's newest record was written, by its writer's account.
type Freshness struct {
	ObservedAt string `json:"observed_at"`
}

// Source is a context_source_ref (specification, "Source refs").
type Source struct {
	SourceID    string         `json:"source_id"`
	URI         string         `json:"uri"`
	Kind        string         `json:"source_kind"`
	Selector    *Selector      `json:"selector,omitempty"`
	Selectors   []Selector     `json:"selectors,omitempty"` // the same place, in W3C's forms
	Digest      string         `json:"digest,omitempty"`
	Authority   string         `json:"authority"`
	Provenance  []string       `json:"provenance_refs,omitempty"`
	External    map[string]any `json:"external_mappings,omitempty"`
	RetrievedAt string         `json:"retrieved_at,omitempty"`
	ModifiedAt  string         `json:"modified_at,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// Selector says which part of a source is meant: lines from 1, both ends in, or bytes, the end out.
type Selector struct {
	Type       string `json:"type"`
	Start      *int64 `json:"start,omitempty"`
	End        *int64 `json:"end,omitempty"`
	ConformsTo string `json:"conformsTo,omitempty"` // of a FragmentSelector
	Value      string `json:"value,omitempty"`
}

// Selection is a context_selection (specification, "Selection and ranking").
type Selection struct {
	SelectionID string                        `json:"selection_id"`
	SurfaceID   string                        `json:"surface_id"`
	Query       string                        `json:"query,omitempty"`
	QuerySource string                        `json:"query_source"`
	Candidates  []string                      `json:"candidate_item_refs"`
	Selected    []string                      `json:"selected_item_refs"`
	Omitted     []OmittedRef                  `json:"omitted_item_refs"`
	Signals     map[string]map[string]float64 `json:"ranking_signals"`
	Policy      string                        `json:"selection_policy"`
	BudgetRef   string                        `json:"budget_ref"`
	Rationale   string                        `json:"rationale"`
	ActorRef    Ref                           `json:"actor_ref"`
	CreatedAt   string                        `json:"created_at"`
	Metadata    map[string]any                `json:"metadata"`
}

// OmittedRef is an item that was left out, and why, in the specification's words.
type OmittedRef struct {
	ItemRef string `json:"item_ref"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail,omitempty"` // of custom
}

// Budget is a context_budget, and Window a context_window (specification, "Budget and window").
type Budget struct {
	BudgetID   string       `json:"budget_id"`
	Target     string       `json:"target"`
	MaxTokens  int          `json:"max_tokens"`
	Reserved   int          `json:"reserved_tokens"`
	Actual     int          `json:"actual_tokens"`
	ActualByte int          `json:"actual_bytes"`
	ActualItem int          `json:"actual_items"`
	Overflow   string       `json:"overflow_strategy"`
	Truncation []Truncation `json:"truncation_records"`
	Segments   []string     `json:"window_segments"`
	Tokenizer  string       `json:"tokenizer"`
	CreatedAt  string       `json:"created_at"`
}

// Truncation is what was cut of an item, and where it is whole.
type Truncation struct {
	ItemRef string `json:"item_ref"`
	Of      string `json:"of"` // the item that is cut
	Tokens  int    `json:"tokens_cut"`
	Guess   bool   `json:"tokens_estimated,omitempty"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// Window is a context_window.
type Window struct {
	WindowID  string    `json:"window_id"`
	Target    string    `json:"target"`
	BudgetRef string    `json:"budget_ref"`
	Segments  []Segment `json:"segments"`
	CreatedAt string    `json:"created_at"`
}

// Segment is a part of a window: items of one kind that stand together, or tokens that are kept free.
type Segment struct {
	SegmentID  string       `json:"segment_id"`
	Role       string       `json:"role"`
	Target     string       `json:"target"`
	Reserved   int          `json:"reserved_tokens"`
	Actual     int          `json:"actual_tokens"`
	ItemRefs   []string     `json:"item_refs"`
	Order      int          `json:"order"`
	Truncation []Truncation `json:"truncation_records"`
}

// Assembly is a context_assembly (specification, "Assembly and injection").
type Assembly struct {
	AssemblyID     string         `json:"assembly_id"`
	Target         string         `json:"target"`
	Blocks         []Block        `json:"ordered_blocks"`
	Wrapping       string         `json:"wrapping_policy"`
	Separator      string         `json:"separator_policy"`
	Visibility     []string       `json:"visibility"`
	BudgetRef      string         `json:"budget_ref,omitempty"`
	ItemRefs       []string       `json:"source_item_refs"`
	RedactionState string         `json:"redaction_state"`
	ContentRef     string         `json:"content_ref"`
	Hash           string         `json:"hash"`
	CreatedAt      string         `json:"created_at"`
	Metadata       map[string]any `json:"metadata,omitempty"`
}

// Block is an assembly's block: an item, where it stands in the pack.
type Block struct {
	BlockID        string   `json:"block_id"`
	ItemRefs       []string `json:"item_refs"`
	ContentRef     string   `json:"content_ref"`
	Selector       Selector `json:"selector"`
	Wrapper        string   `json:"wrapper"`
	Position       int      `json:"position"`
	Visibility     []string `json:"visibility"`
	Tokens         int      `json:"token_estimate"`
	Hash           string   `json:"hash"`
	RedactionState string   `json:"redaction_state"`
}

// Injection is a context_injection: somebody declared that an assembly was made visible. Assembly, when it is not the
// pack's, is that of the bytes that were shown.
type Injection struct {
	InjectionID string         `json:"injection_id"`
	ContextID   string         `json:"context_id"`
	AssemblyID  string         `json:"assembly_id"`
	Target      string         `json:"target"`
	Point       string         `json:"injection_point"`
	NativeID    string         `json:"native_id,omitempty"`
	Visibility  []string       `json:"visibility"`
	FinalRef    string         `json:"final_ref"`
	Hash        string         `json:"hash"`
	CreatedAt   string         `json:"created_at"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// Compaction is a context_compaction (specification, "Compaction and summaries").
type Compaction struct {
	CompactionID string         `json:"compaction_id"`
	Scope        string         `json:"scope"`
	Sources      []string       `json:"source_item_refs"`
	SummaryRef   string         `json:"summary_ref"`
	SummaryHash  string         `json:"summary_hash,omitempty"`
	Method       string         `json:"method"`
	Trigger      string         `json:"trigger,omitempty"`
	Coverage     map[string]int `json:"coverage"`
	LossNotes    []string       `json:"loss_notes"`
	Validation   map[string]any `json:"validation"`
	Replacement  string         `json:"replacement_policy"`
	CreatedAt    string         `json:"created_at,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
}

// Summary is a context_summary.
type Summary struct {
	SummaryID     string         `json:"summary_id"`
	Kind          string         `json:"summary_kind"`
	ContentRef    string         `json:"content_ref"`
	Digest        string         `json:"digest,omitempty"`
	SourceItems   []string       `json:"source_item_refs"`
	Coverage      map[string]int `json:"coverage"`
	LossNotes     []string       `json:"loss_notes"`
	OpenQuestions []string       `json:"open_questions"`
	Freshness     *Freshness     `json:"freshness,omitempty"`
	Validation    map[string]any `json:"validation"`
	Refresh       string         `json:"refresh_policy"`
	CreatedAt     string         `json:"created_at"`
}

// Missing is a missing_context record (specification, "Missing context").
type Missing struct {
	MissingID   string         `json:"missing_id"`
	Scope       string         `json:"scope"`
	Question    string         `json:"question"`
	NeededFor   string         `json:"needed_for,omitempty"`
	Severity    string         `json:"severity"`
	Candidates  []MissingHint  `json:"candidate_sources"`
	Blocked     []string       `json:"blocked_actions"`
	RequestedOf string         `json:"requested_from,omitempty"`
	Status      string         `json:"status"`
	Resolution  []string       `json:"resolution_refs"`
	CreatedAt   string         `json:"created_at,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// MissingHint is where what is missing may be.
type MissingHint struct {
	Kind string `json:"kind"`
	Hint string `json:"hint"`
}

// Redacted is a redaction record (contracts, "Policy and redaction"), and of which item of the pack it is.
type Redacted struct {
	RedactionID string   `json:"redaction_id"`
	State       string   `json:"redaction_state"`
	Method      string   `json:"redaction_method"`
	Fields      []string `json:"redacted_fields"`
	PolicyRefs  []string `json:"policy_refs"`
	ActorRef    Ref      `json:"actor_ref"`
	ItemRef     string   `json:"item_ref,omitempty"`
	BlockRef    string   `json:"block_ref,omitempty"`
	Replacement string   `json:"replacement_ref,omitempty"`
	Count       int      `json:"count"`
	CreatedAt   string   `json:"created_at"`
}

// Export is the data of an event that the context left ctxfs.
type Export struct {
	ID   string `json:"id"`
	Time string `json:"time"`
	Data json.RawMessage
}

// Event is a context_event: CloudEvents 1.0, JSON format.
type Event struct {
	SpecVersion string         `json:"specversion"`
	ID          string         `json:"id"`
	Source      string         `json:"source"`
	Type        string         `json:"type"`
	Subject     string         `json:"subject"`
	Time        string         `json:"time,omitempty"`
	ContentType string         `json:"datacontenttype"`
	Sequence    string         `json:"sequence"`
	Data        map[string]any `json:"data"`
}
