// Generated from docs/openapi.json by `npm run openapi`. Do not edit.

import type { Download } from './download.ts'
import { type Bound, type Items, iterateByCursor, iterateByPage, iterateWhole } from './list.ts'
import type { Body, Call, CallOptions, Query, Result, RevisionOptions } from './request.ts'
import { Resource } from './resource.ts'

export type Activity = {
  id: string
  type:
    | 'event.triggered'
    | 'email.sent'
    | 'email.delivered'
    | 'email.opened'
    | 'email.clicked'
    | 'email.bounced'
    | 'email.complaint'
    | 'email.failed'
    | 'email.received'
    | 'contact.subscribed'
    | 'contact.unsubscribed'
    | 'workflow.started'
    | 'workflow.completed'
    | 'workflow.failed'
    | 'campaign.sent'
    | 'email.skipped'
    | 'contact.suppressed'
  timestamp: string
  contactId: string | null
  contactEmail: string | null
  /** Details: the data of an event, or the ids and names of the workflow, campaign or email. An `event.triggered` has `eventName` and `data`. Bodies of emails are left out. */
  metadata: Record<string, unknown>
}

export type ActivityStats = {
  /** Events that were tracked, and entries and exits of segments. */
  totalEvents: number
  totalEmailsSent: number
  /** Emails that people opened, each once. */
  totalEmailsOpened: number
  /** Emails in which people clicked, each once. */
  totalEmailsClicked: number
  totalWorkflowsStarted: number
  /** Percent of the sent emails, with one decimal. */
  openRate: number
  clickRate: number
}

export type AddressVerification = {
  /** Normalised as it would be stored; unchanged if it is not an address. */
  email: string
  /** The address is well-formed and its domain accepts email. Independent of the other flags. */
  valid: boolean
  isDisposable: boolean
  /** At a forwarding service that hides the real address. */
  isAlias: boolean
  isTypo: boolean
  isPlusAddressed: boolean
  /** At a provider of personal mailboxes. */
  isPersonalEmail: boolean
  domainExists: boolean
  /** The domain has an A or AAAA record. No connection is made. */
  hasWebsite: boolean
  hasMxRecords: boolean
  suggestedEmail?: string
  /** Problems and remarks, including failed DNS lookups. */
  reasons: string[]
}

export type AnalyticsLeader = {
  id: string
  /** Null if it was deleted. */
  name: string | null
  /** Emails that were sent. */
  emails: number
  /** Emails reported as delivered. 0 if the transport reports none, as plain SMTP. */
  delivered: number
  /** Emails that a person opened, each at the time of its first open. */
  opens: number
  /** Emails in which a person clicked a link, each at the time of its first click. */
  clicks: number
  /** Emails that a machine opened, such as a privacy proxy. */
  machineOpens: number
  /** Emails in which a machine followed a link, such as a scanner. */
  machineClicks: number
  /** Hard bounces, with those refused during transmission. */
  bounces: number
  complaints: number
  /** By a link of an email. */
  unsubscribes: number
  /** Percent of the sent emails, with one decimal. */
  deliveryRate: number
  /** Percent of the sent emails, with one decimal. */
  openRate: number
  /** Percent of the sent emails, with one decimal. */
  clickRate: number
}

export type AnalyticsPoint = {
  /** A day such as 2026-01-31; with `interval=hour` the time at which the hour begins. */
  date: string
  /** Emails that were sent. */
  emails: number
  /** Emails reported as delivered. 0 if the transport reports none, as plain SMTP. */
  delivered: number
  /** Emails that a person opened, each at the time of its first open. */
  opens: number
  /** Emails in which a person clicked a link, each at the time of its first click. */
  clicks: number
  /** Emails that a machine opened, such as a privacy proxy. */
  machineOpens: number
  /** Emails in which a machine followed a link, such as a scanner. */
  machineClicks: number
  /** Hard bounces, with those refused during transmission. */
  bounces: number
  complaints: number
  /** By a link of an email. */
  unsubscribes: number
}

export type AnalyticsTotals = {
  from: string
  to: string
  /** Emails that were sent. */
  emails: number
  /** Emails reported as delivered. 0 if the transport reports none, as plain SMTP. */
  delivered: number
  /** Emails that a person opened, each at the time of its first open. */
  opens: number
  /** Emails in which a person clicked a link, each at the time of its first click. */
  clicks: number
  /** Emails that a machine opened, such as a privacy proxy. */
  machineOpens: number
  /** Emails in which a machine followed a link, such as a scanner. */
  machineClicks: number
  /** Hard bounces, with those refused during transmission. */
  bounces: number
  complaints: number
  /** By a link of an email. */
  unsubscribes: number
  /** Contacts that were created. */
  newContacts: number
  /** Contacts that were created as subscribed, or became it. */
  newSubscribers: number
  /** Contacts that became unsubscribed, by whatever means. */
  unsubscribed: number
  deletedContacts: number
}

export type ApiKey = {
  /** `public` and `secret` for the pair. */
  id: string
  name: string
  kind: 'secret' | 'public'
  /** One of the two keys of the project, which only `regenerate-keys` changes. */
  isPair: boolean
  /** Null for public keys. */
  scopes: ('full' | 'send' | 'events' | 'contacts' | 'templates' | 'campaigns' | 'workflows' | 'read')[] | null
  /** Null: every verified domain. */
  senderDomains: string[] | null
  /** CIDRs. Null: from anywhere. */
  networks: string[] | null
  expiresAt: string | null
  /** To the minute. */
  lastUsedAt: string | null
  /** Id of a user. */
  createdBy: string | null
  createdAt: string
  /** The beginning of the key. */
  prefix: string
  /** Until then the key from before the last rotation works, too. */
  graceUntil: string | null
}

export type ApiKeyWithSecret = {
  /** `public` and `secret` for the pair. */
  id: string
  name: string
  kind: 'secret' | 'public'
  /** One of the two keys of the project, which only `regenerate-keys` changes. */
  isPair: boolean
  /** Null for public keys. */
  scopes: ('full' | 'send' | 'events' | 'contacts' | 'templates' | 'campaigns' | 'workflows' | 'read')[] | null
  /** Null: every verified domain. */
  senderDomains: string[] | null
  /** CIDRs. Null: from anywhere. */
  networks: string[] | null
  expiresAt: string | null
  /** To the minute. */
  lastUsedAt: string | null
  /** Id of a user. */
  createdBy: string | null
  createdAt: string
  /** The beginning of the key. */
  prefix: string
  /** Until then the key from before the last rotation works, too. */
  graceUntil: string | null
  /** Shown only once. */
  key: string
}

export type AuditEntry = {
  id: string
  at: string
  actor: {
    type: 'user' | 'key' | 'system'
    /** The id of the user or the API key. Null for the key pair of the project, and for the system. */
    id: string | null
    name: string | null
  }
  /** The action: `template.update`. */
  action: string
  target: {
    type: string
    id: string | null
    /** Null for contacts and emails. */
    name: string | null
  }
  changes: {
    field: string
    /** Only of settings. */
    value?: unknown
  }[]
  network: string | null
}

export type BillingConsumption = {
  period: {
    start: string
    end: string
  }
  usage: {
    total: number
    /** By UTC day and category, without zeros. */
    records: {
      /** YYYY-MM-DD */
      date: string
      category: 'workflows' | 'campaigns' | 'transactional' | 'inbound'
      count: number
    }[]
  }
  /** In the smallest unit of the currency. Null without a customer. */
  credits: number | null
  /** Null without a subscription. */
  upcomingInvoice: {
    currency: string
    /** In the smallest unit of the currency. */
    total: number
    amountDue: number
    periodEnd: string
  } | null
}

export type BillingLimits = {
  workflows: {
    /** Emails in a period. Null: no limit. */
    limit: number | null
    /** Emails of this period that were accepted and not skipped. */
    usage: number
    percentage: number | null
    /** From 80 % on. */
    isWarning: boolean
    /** The limit is reached: further emails are refused. */
    isBlocked: boolean
  }
  campaigns: {
    /** Emails in a period. Null: no limit. */
    limit: number | null
    /** Emails of this period that were accepted and not skipped. */
    usage: number
    percentage: number | null
    /** From 80 % on. */
    isWarning: boolean
    /** The limit is reached: further emails are refused. */
    isBlocked: boolean
  }
  transactional: {
    /** Emails in a period. Null: no limit. */
    limit: number | null
    /** Emails of this period that were accepted and not skipped. */
    usage: number
    percentage: number | null
    /** From 80 % on. */
    isWarning: boolean
    /** The limit is reached: further emails are refused. */
    isBlocked: boolean
  }
  inbound: {
    /** Emails in a period. Null: no limit. */
    limit: number | null
    /** Emails of this period that were accepted and not skipped. */
    usage: number
    percentage: number | null
    /** From 80 % on. */
    isWarning: boolean
    /** The limit is reached: further emails are refused. */
    isBlocked: boolean
  }
  currency: string | null
}

/** The look of visual emails: logo, colours, font, corners and footer. */
export type Brand = {
  logoUrl?: string | null
  colors?: {
    /** Buttons and links. */
    primary?: string | null
    /** Around the email. */
    background?: string | null
    text?: string | null
  } | null
  /** Families in order of preference, such as `Georgia, serif`. */
  font?: string | null
  /** Rounded corners of buttons and pictures, in pixels. */
  radius?: number | null
  footer?: {
    name?: string | null
    /** Postal address; line breaks are kept. */
    address?: string | null
    links?: {
      label: string
      href: string
    }[] | null
  } | null
}

/** The look of visual emails: logo, colours, font, corners and footer. */
export type BrandInput = {
  logoUrl?: string | null
  colors?: {
    /** Buttons and links. */
    primary?: string | null
    /** Around the email. */
    background?: string | null
    text?: string | null
  } | null
  /** Families in order of preference, such as `Georgia, serif`. */
  font?: string | null
  /** Rounded corners of buttons and pictures, in pixels. */
  radius?: number | null
  footer?: {
    name?: string | null
    /** Postal address; line breaks are kept. */
    address?: string | null
    links?: {
      label: string
      href: string
    }[] | null
  } | null
}

export type Campaign = {
  id: string
  name: string
  description: string | null
  subject: string
  body: string
  /** Whether `body` was rendered from a design. */
  hasDesign: boolean
  previewText: string | null
  from: string
  fromName: string | null
  replyTo: string | null
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  status: 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'SENT' | 'CANCELLED'
  audienceType: 'ALL' | 'SEGMENT' | 'FILTERED'
  segmentId: string | null
  segment: {
    id: string
    name: string
  } | null
  audienceCondition: Condition | null
  /** The template that the content came from. Changes of the template do not change the campaign. */
  templateId: string | null
  /** Most emails that leave in a minute. Null: as fast as the installation sends. */
  ratePerMinute: number | null
  scheduledFor: string | null
  /** The audience is that of this moment. */
  startedAt: string | null
  /** The user or the API key that sent or scheduled it. */
  startedBy: {
    by: 'user' | 'key'
    userId: string | null
  } | null
  /** When it became `SENT`. */
  sentAt: string | null
  /** Set by a pause that needs a resume. */
  pausedAt: string | null
  /** `person`, `spike`, `billing_limit` and `audience_failed` (its recipients could not be written, for instance because its conditions take too long) need a resume. The others end by themselves: `provider_quota` (the quota of the provider is used up), `provider` (it accepts nothing for another reason), `domain` (not verified), `domain_paused` (refused by the provider), `project_disabled`. */
  pausedReason:
    | 'person'
    | 'spike'
    | 'billing_limit'
    | 'audience_failed'
    | 'project_disabled'
    | 'provider_quota'
    | 'provider'
    | 'domain'
    | 'domain_paused' | null
  /** Why it is sent no faster: `provider_rate` (the provider accepts no more emails a second), `installation_rate` (the limit that this installation has set itself), both shared by all projects, or `recipient_domains` (receivers asked for fewer emails at a time). Empty unless it is being sent. */
  slowedBy: ('provider_rate' | 'installation_rate' | 'recipient_domains')[]
  /** Grows while the audience is being frozen. */
  totalRecipients: number
  sentCount: number
  deliveredCount: number
  /** Recipients, not opens. Opened by a person, not by a machine. */
  openedCount: number
  /** Recipients, not clicks. Clicked by a person, not by a machine. */
  clickedCount: number
  machineOpenedCount: number
  machineClickedCount: number
  bouncedCount: number
  complainedCount: number
  /** Unsubscribed by a link of this campaign. */
  unsubscribedCount: number
  failedCount: number
  /** Recipients that lost eligibility after the start, or were cancelled. */
  skippedCount: number
  /** When its emails were first removed by age. The counters stay as they were; lists of its emails get shorter. */
  countersClosedAt: string | null
  /** Contacts of the audience that may not get the email; not among the recipients. */
  excludedCounts: {
    unsubscribed: number
    suppressed: number
    invalid: number
  }
  projectId: string
  createdAt: string
  updatedAt: string
  /** The blocks that `body` was rendered from. Null for an email written as HTML. */
  design: Design | null
}

export type CampaignAudienceContact = {
  contactId: string
  email: string
  /** Why the contact would not get the email; null if it would. */
  reason: 'unsubscribed' | 'suppressed' | 'invalid' | null
}

export type CampaignAuditEntry = {
  id: string
  action: 'started' | 'scheduled' | 'unscheduled' | 'paused' | 'resumed' | 'cancelled' | 'resent' | 'rate_changed' | 'sent'
  by: 'user' | 'key' | 'system'
  userId: string | null
  details: Record<string, unknown>
  createdAt: string
}

export type CampaignBreakdown = {
  total: number
  /** Scheduled or being sent. */
  active: number
  /** Sent. */
  completed: number
  drafts: number
  scheduled: number
  sending: number
  cancelled: number
  totalRecipients: number
  sentCount: number
  deliveredCount: number
  openedCount: number
  clickedCount: number
  bouncedCount: number
  complainedCount: number
  unsubscribedCount: number
  /** Opened of all sent emails of campaigns, in percent with one decimal. */
  averageOpenRate: number
  averageClickRate: number
}

export type CampaignClicksPreview = {
  /** Path of a page to show in an `<iframe>`. Needs no credentials, and expires after 15 minutes. `?images=off` blocks remote images. */
  frameUrl: string
  /** Different links of the email that are tracked. 0: it has none to click. */
  links: number
}

export type CampaignExcludedContact = {
  /** Null if the contact was deleted. */
  contactId: string | null
  email: string
  /** The name of the contact now, by `nameFields` of the project. */
  name: string | null
  reason: 'unsubscribed' | 'suppressed' | 'invalid'
}

export type CampaignHour = {
  /** Start of the hour, counted from the start of the campaign. */
  from: string
  sent: number
  /** Recipients that opened the email first in this hour, without machines. */
  opened: number
  clicked: number
}

export type CampaignLink = {
  link: string
  clicks: number
  /** Recipients that clicked it. */
  people: number
}

export type CampaignListItem = {
  id: string
  name: string
  description: string | null
  subject: string
  body: string
  /** Whether `body` was rendered from a design. */
  hasDesign: boolean
  previewText: string | null
  from: string
  fromName: string | null
  replyTo: string | null
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  status: 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'SENT' | 'CANCELLED'
  audienceType: 'ALL' | 'SEGMENT' | 'FILTERED'
  segmentId: string | null
  segment: {
    id: string
    name: string
  } | null
  audienceCondition: Condition | null
  /** The template that the content came from. Changes of the template do not change the campaign. */
  templateId: string | null
  /** Most emails that leave in a minute. Null: as fast as the installation sends. */
  ratePerMinute: number | null
  scheduledFor: string | null
  /** The audience is that of this moment. */
  startedAt: string | null
  /** The user or the API key that sent or scheduled it. */
  startedBy: {
    by: 'user' | 'key'
    userId: string | null
  } | null
  /** When it became `SENT`. */
  sentAt: string | null
  /** Set by a pause that needs a resume. */
  pausedAt: string | null
  /** `person`, `spike`, `billing_limit` and `audience_failed` (its recipients could not be written, for instance because its conditions take too long) need a resume. The others end by themselves: `provider_quota` (the quota of the provider is used up), `provider` (it accepts nothing for another reason), `domain` (not verified), `domain_paused` (refused by the provider), `project_disabled`. */
  pausedReason:
    | 'person'
    | 'spike'
    | 'billing_limit'
    | 'audience_failed'
    | 'project_disabled'
    | 'provider_quota'
    | 'provider'
    | 'domain'
    | 'domain_paused' | null
  /** Why it is sent no faster: `provider_rate` (the provider accepts no more emails a second), `installation_rate` (the limit that this installation has set itself), both shared by all projects, or `recipient_domains` (receivers asked for fewer emails at a time). Empty unless it is being sent. */
  slowedBy: ('provider_rate' | 'installation_rate' | 'recipient_domains')[]
  /** Grows while the audience is being frozen. */
  totalRecipients: number
  sentCount: number
  deliveredCount: number
  /** Recipients, not opens. Opened by a person, not by a machine. */
  openedCount: number
  /** Recipients, not clicks. Clicked by a person, not by a machine. */
  clickedCount: number
  machineOpenedCount: number
  machineClickedCount: number
  bouncedCount: number
  complainedCount: number
  /** Unsubscribed by a link of this campaign. */
  unsubscribedCount: number
  failedCount: number
  /** Recipients that lost eligibility after the start, or were cancelled. */
  skippedCount: number
  /** When its emails were first removed by age. The counters stay as they were; lists of its emails get shorter. */
  countersClosedAt: string | null
  /** Contacts of the audience that may not get the email; not among the recipients. */
  excludedCounts: {
    unsubscribed: number
    suppressed: number
    invalid: number
  }
  projectId: string
  createdAt: string
  updatedAt: string
}

export type CampaignPreflight = {
  /** matches − unsubscribed − suppressed − invalid = recipients */
  audience: {
    matches: number
    unsubscribed: number
    suppressed: number
    invalid: number
    recipients: number
    /** True if the numbers come from a sample of 10,000 contacts. */
    estimated: boolean
  }
  /** Variables that the content uses without a fallback. */
  missingVariables: {
    variable: string
    /** Recipients without a value for it. */
    contacts: number
  }[]
  lint: {
    code:
      | 'syntax_error'
      | 'missing_variable'
      | 'ambiguous_name'
      | 'empty_link'
      | 'broken_link'
      | 'insecure_link'
      | 'image_without_alt'
      | 'no_picture'
      | 'too_large'
      | 'no_unsubscribe_link'
    severity: 'error' | 'warning' | 'info'
    message: string
    /** Line of the body. */
    line?: number
    /** Block of the design. */
    blockId?: string
  }[]
  sender: {
    from: string
    verified: boolean
  }
  /** Null if nothing is known about the rate. */
  ratePerMinute: number | null
  /** Duration at that rate. */
  estimatedSeconds: number | null
}

export type CampaignReason = {
  outcome: 'sent' | 'failed' | 'skipped' | 'open'
  reason:
    | 'unsubscribed'
    | 'suppressed'
    | 'contact_deleted'
    | 'invalid'
    | 'project_deleted'
    | 'cancelled'
    | 'bounced'
    | 'rejected'
    | 'domain_not_verified'
    | 'rendering'
    | 'too_large'
    | 'transient'
    | 'expired'
    | 'outcome_unknown'
    | 'crashed'
    | 'provider_paused'
    | 'domain_paused'
    | 'throttled'
    | 'project_disabled'
    | 'verifying_refusal' | null
  recipients: number
}

export type CampaignRecipient = {
  /** The id of the email. */
  id: string
  /** Null if the contact was deleted. */
  contactId: string | null
  /** The address that was used. Before that, the address at the start of the campaign. */
  email: string
  /** The name of the contact now, by `nameFields` of the project. */
  name: string | null
  status: 'PENDING' | 'SENDING' | 'SENT' | 'DELIVERED' | 'OPENED' | 'CLICKED' | 'BOUNCED' | 'COMPLAINED' | 'FAILED' | 'SKIPPED'
  /** Each recipient has one; they add up to the counters of the campaign. */
  outcome: 'sent' | 'failed' | 'skipped' | 'open'
  /** Why it failed, was skipped, or has to wait. */
  reason:
    | 'unsubscribed'
    | 'suppressed'
    | 'contact_deleted'
    | 'invalid'
    | 'project_deleted'
    | 'cancelled'
    | 'bounced'
    | 'rejected'
    | 'domain_not_verified'
    | 'rendering'
    | 'too_large'
    | 'transient'
    | 'expired'
    | 'outcome_unknown'
    | 'crashed'
    | 'provider_paused'
    | 'domain_paused'
    | 'throttled'
    | 'project_disabled'
    | 'verifying_refusal' | null
  attempts: number
  queuedAt: string
  sentAt: string | null
  deliveredAt: string | null
}

export type CampaignStats = {
  totalRecipients: number
  sentCount: number
  deliveredCount: number
  openedCount: number
  clickedCount: number
  machineOpenedCount: number
  machineClickedCount: number
  bouncedCount: number
  complainedCount: number
  unsubscribedCount: number
  failedCount: number
  skippedCount: number
  /** Percent, with one decimal. */
  openRate: number
  /** Percent, with one decimal. */
  clickRate: number
  /** Percent of the emails that were sent or refused during transmission, with one decimal. */
  bounceRate: number
  /** Percent, with one decimal. */
  deliveryRate: number
  /** False if the transport reports no deliveries, as plain SMTP. */
  deliveryReported: boolean
}

/** Selects contacts: groups of filters, nested up to 10 levels, with at most 100 filters. */
export type Condition = {
  /** Joins the groups. Within a group everything must hold. */
  logic: 'AND' | 'OR'
  groups: {
    filters: ConditionFilter[]
    /** Nested conditions, which must hold as well. */
    conditions?: Condition
  }[]
}

export type ConditionExplanation = {
  logic: 'AND' | 'OR'
  matches: boolean
  groups: {
    matches: boolean
    filters: {
      field: string
      operator: string
      value?: string | number | boolean
      unit?: string
      matches: boolean
      /** The value of the contact: of the field; the time of the last event; for a segment, whether the contact is a member. Null if there is none. Long values are cut. */
      actual: unknown
      /** The field was deleted from all contacts: no filter on it matches. */
      fieldDeleted?: boolean
      /** The condition of a dynamic segment. */
      segment?: ConditionExplanation
    }[]
    conditions?: ConditionExplanation
  }[]
}

export type ConditionFilter = {
  /** `email`, `subscribed`, `createdAt`, `updatedAt`, `data.<path>`, `event.<name>`, `email.<activity>` (sent, delivered, opened, clicked, bounced, complained) or `segment.<id>`. */
  field: string
  operator:
    | 'equals'
    | 'notEquals'
    | 'contains'
    | 'notContains'
    | 'greaterThan'
    | 'lessThan'
    | 'greaterThanOrEqual'
    | 'lessThanOrEqual'
    | 'exists'
    | 'notExists'
    | 'within'
    | 'olderThan'
    | 'triggered'
    | 'notTriggered'
    | 'triggeredWithin'
    | 'triggeredOlderThan'
    | 'notTriggeredWithin'
    | 'memberOfSegment'
    | 'notMemberOfSegment'
  value?: string | number | boolean
  /** Unit of `value` for operators that take a period. */
  unit?: 'days' | 'hours' | 'minutes'
}

export type ConditionFilterInput = {
  /** `email`, `subscribed`, `createdAt`, `updatedAt`, `data.<path>`, `event.<name>`, `email.<activity>` (sent, delivered, opened, clicked, bounced, complained) or `segment.<id>`. */
  field: string
  operator:
    | 'equals'
    | 'notEquals'
    | 'contains'
    | 'notContains'
    | 'greaterThan'
    | 'lessThan'
    | 'greaterThanOrEqual'
    | 'lessThanOrEqual'
    | 'exists'
    | 'notExists'
    | 'within'
    | 'olderThan'
    | 'triggered'
    | 'notTriggered'
    | 'triggeredWithin'
    | 'triggeredOlderThan'
    | 'notTriggeredWithin'
    | 'memberOfSegment'
    | 'notMemberOfSegment'
  value?: string | number | boolean
  /** Unit of `value` for operators that take a period. */
  unit?: 'days' | 'hours' | 'minutes'
}

/** Selects contacts: groups of filters, nested up to 10 levels, with at most 100 filters. */
export type ConditionInput = {
  /** Joins the groups. Within a group everything must hold. */
  logic: 'AND' | 'OR'
  groups: {
    filters: ConditionFilterInput[]
    /** Nested conditions, which must hold as well. */
    conditions?: ConditionInput
  }[]
}

export type Consent = {
  id: string
  subscribed: boolean
  /** Origin of the change: secret-key, public-key, dashboard, import, bulk, page, one-click, bounce, complaint, workflow. */
  source: string
  details: Record<string, unknown>
  createdAt: string
}

export type Contact = {
  id: string
  email: string
  subscribed: boolean
  data: Record<string, unknown> | null
  projectId: string
  createdAt: string
  updatedAt: string
}

export type ContactGrowth = {
  days: {
    date: string
    /** Contacts that were created. */
    newContacts: number
    /** Contacts that were created as subscribed, or became it. */
    newSubscribers: number
    /** Contacts that became unsubscribed, by whatever means. */
    unsubscribed: number
    deletedContacts: number
  }[]
  sources: {
    /** As in the consents of a contact; `unknown` for older contacts. */
    source: string
    /** Contacts that were created. */
    newContacts: number
    /** Contacts that were created as subscribed, or became it. */
    newSubscribers: number
    /** Contacts that became unsubscribed, by whatever means. */
    unsubscribed: number
    deletedContacts: number
  }[]
  /** Contacts now. */
  total: number
  /** Subscribed contacts now. */
  subscribed: number
}

export type DeliveryTimes = {
  /** Emails reported as delivered in the period. */
  count: number
  /** Half of them were delivered within this time. Estimated from the buckets. */
  p50Seconds: number | null
  p95Seconds: number | null
  buckets: {
    upToSeconds: number | null
    count: number
  }[]
}

/** A visual email: blocks that the server renders to HTML. */
export type Design = {
  version: 1
  settings?: {
    /** Shown by inboxes beside the subject; hidden in the email itself. */
    preview?: string | null
    lang?: string | null
    dir?: 'ltr' | 'rtl' | null
    /** In pixels; 600 without it. */
    width?: number | null
    /** Overrides the brand of the project. */
    theme?: Brand | null
  }
  content: DesignBlock[]
}

export type DesignBlock = {
  type: 'heading'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    level: number
    align?: 'left' | 'center' | 'right' | null
  }
  content?: DesignInline[]
} | {
  type: 'paragraph'
  attrs?: {
    /** Names the block in errors. */
    id?: string | null
    align?: 'left' | 'center' | 'right' | null
  }
  content?: DesignInline[]
} | DesignList | {
  type: 'button'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    href: string
    align?: 'left' | 'center' | 'right' | null
    style?: 'filled' | 'outline' | 'link' | null
  }
  content?: DesignInline[]
} | {
  type: 'image'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    src: string
    alt?: string | null
    /** In pixels; as wide as its place without it. */
    width?: number | null
    href?: string | null
    align?: 'left' | 'center' | 'right' | null
    /** The logo of the brand instead of `src`. */
    isLogo?: boolean | null
  }
} | {
  type: 'divider'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
  }
} | {
  type: 'spacer'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    height: number
  }
} | {
  type: 'section'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    bg?: string | null
    padding?: number | null
  }
  content: DesignBlocks
} | {
  type: 'columns'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    /** Shares of the width, one per column. Equal shares without it. */
    widths?: number[] | null
    /** Columns stand below each other on phones. With `false` they stay side by side. */
    stack?: boolean | null
  }
  content: {
    type: 'column'
    content: DesignBlocks
  }[]
} | {
  type: 'html'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    source: string
  }
} | {
  type: 'footer'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    align?: 'left' | 'center' | 'right' | null
  }
} | {
  type: 'social'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    links: {
      kind: string
      href: string
    }[]
    align?: 'left' | 'center' | 'right' | null
  }
} | {
  type: 'condition'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    field?: string | null
    operator?:
      | 'equals'
      | 'notEquals'
      | 'contains'
      | 'notContains'
      | 'greaterThan'
      | 'lessThan'
      | 'greaterThanOrEqual'
      | 'lessThanOrEqual'
      | 'exists'
      | 'notExists' | null
    value?: string | number | boolean | null
    expression?: string | null
  }
  content: DesignBlocks
} | {
  type: 'loop'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    item: string
    list: string
  }
  content: DesignBlocks
}

export type DesignBlockInput = {
  type: 'heading'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    level: number
    align?: 'left' | 'center' | 'right' | null
  }
  content?: DesignInlineInput[]
} | {
  type: 'paragraph'
  attrs?: {
    /** Names the block in errors. */
    id?: string | null
    align?: 'left' | 'center' | 'right' | null
  }
  content?: DesignInlineInput[]
} | DesignListInput | {
  type: 'button'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    href: string
    align?: 'left' | 'center' | 'right' | null
    style?: 'filled' | 'outline' | 'link' | null
  }
  content?: DesignInlineInput[]
} | {
  type: 'image'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    src: string
    alt?: string | null
    /** In pixels; as wide as its place without it. */
    width?: number | null
    href?: string | null
    align?: 'left' | 'center' | 'right' | null
    /** The logo of the brand instead of `src`. */
    isLogo?: boolean | null
  }
} | {
  type: 'divider'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
  }
} | {
  type: 'spacer'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    height: number
  }
} | {
  type: 'section'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    bg?: string | null
    padding?: number | null
  }
  content: DesignBlocksInput
} | {
  type: 'columns'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    /** Shares of the width, one per column. Equal shares without it. */
    widths?: number[] | null
    /** Columns stand below each other on phones. With `false` they stay side by side. */
    stack?: boolean | null
  }
  content: {
    type: 'column'
    content: DesignBlocksInput
  }[]
} | {
  type: 'html'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    source: string
  }
} | {
  type: 'footer'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    align?: 'left' | 'center' | 'right' | null
  }
} | {
  type: 'social'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    links: {
      kind: string
      href: string
    }[]
    align?: 'left' | 'center' | 'right' | null
  }
} | {
  type: 'condition'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    field?: string | null
    operator?:
      | 'equals'
      | 'notEquals'
      | 'contains'
      | 'notContains'
      | 'greaterThan'
      | 'lessThan'
      | 'greaterThanOrEqual'
      | 'lessThanOrEqual'
      | 'exists'
      | 'notExists' | null
    value?: string | number | boolean | null
    expression?: string | null
  }
  content: DesignBlocksInput
} | {
  type: 'loop'
  attrs: {
    /** Names the block in errors. */
    id?: string | null
    item: string
    list: string
  }
  content: DesignBlocksInput
}

export type DesignBlocks = DesignBlock[]

export type DesignBlocksInput = DesignBlockInput[]

export type DesignInline = {
  type: 'text'
  text: string
  marks?: ({
    type: 'bold' | 'italic' | 'underline' | 'strike'
  } | {
    type: 'link'
    attrs: {
      href: string
    }
  } | {
    type: 'color'
    attrs: {
      color: string
    }
  })[]
} | {
  type: 'variable'
  attrs: {
    path: string
    fallback?: string | null
    filter?: string | null
  }
  marks?: ({
    type: 'bold' | 'italic' | 'underline' | 'strike'
  } | {
    type: 'link'
    attrs: {
      href: string
    }
  } | {
    type: 'color'
    attrs: {
      color: string
    }
  })[]
} | {
  type: 'hardBreak'
  marks?: ({
    type: 'bold' | 'italic' | 'underline' | 'strike'
  } | {
    type: 'link'
    attrs: {
      href: string
    }
  } | {
    type: 'color'
    attrs: {
      color: string
    }
  })[]
}

export type DesignInlineInput = {
  type: 'text'
  text: string
  marks?: ({
    type: 'bold' | 'italic' | 'underline' | 'strike'
  } | {
    type: 'link'
    attrs: {
      href: string
    }
  } | {
    type: 'color'
    attrs: {
      color: string
    }
  })[]
} | {
  type: 'variable'
  attrs: {
    path: string
    fallback?: string | null
    filter?: string | null
  }
  marks?: ({
    type: 'bold' | 'italic' | 'underline' | 'strike'
  } | {
    type: 'link'
    attrs: {
      href: string
    }
  } | {
    type: 'color'
    attrs: {
      color: string
    }
  })[]
} | {
  type: 'hardBreak'
  marks?: ({
    type: 'bold' | 'italic' | 'underline' | 'strike'
  } | {
    type: 'link'
    attrs: {
      href: string
    }
  } | {
    type: 'color'
    attrs: {
      color: string
    }
  })[]
}

/** A visual email: blocks that the server renders to HTML. */
export type DesignInput = {
  version: 1
  settings?: {
    /** Shown by inboxes beside the subject; hidden in the email itself. */
    preview?: string | null
    lang?: string | null
    dir?: 'ltr' | 'rtl' | null
    /** In pixels; 600 without it. */
    width?: number | null
    /** Overrides the brand of the project. */
    theme?: BrandInput | null
  }
  content: DesignBlockInput[]
}

export type DesignList = {
  type: 'bulletList' | 'orderedList'
  attrs?: {
    /** Names the block in errors. */
    id?: string | null
  }
  content: DesignListItems
}

export type DesignListInput = {
  type: 'bulletList' | 'orderedList'
  attrs?: {
    /** Names the block in errors. */
    id?: string | null
  }
  content: DesignListItemsInput
}

export type DesignListItems = {
  type: 'listItem'
  content: ({
    type: 'paragraph'
    attrs?: {
      /** Names the block in errors. */
      id?: string | null
      align?: 'left' | 'center' | 'right' | null
    }
    content?: DesignInline[]
  } | DesignList)[]
}[]

export type DesignListItemsInput = {
  type: 'listItem'
  content: ({
    type: 'paragraph'
    attrs?: {
      /** Names the block in errors. */
      id?: string | null
      align?: 'left' | 'center' | 'right' | null
    }
    content?: DesignInlineInput[]
  } | DesignListInput)[]
}[]

export type Doctor = {
  /** The worst of the checks. */
  verdict: 'ok' | 'warn' | 'FAIL'
  checks: {
    group: 'reachability' | 'sending' | 'feedback' | 'database' | 'disk' | 'version' | 'billing'
    name: string
    verdict: 'ok' | 'warn' | 'FAIL'
    note: string
  }[]
  queues: {
    priority: 'transactional' | 'bulk'
    /** Emails that are ready to be sent; counted up to 100,000, with the paused ones. */
    waiting: number
    /** Emails of paused campaigns. */
    paused: number
    oldestAt: string | null
  }[]
  /** Average of this hour and the one before. Without emails of the sandbox. */
  sentPerMinute: number
  checkedAt: string
}

export type Domain = {
  id: string
  domain: string
  status: 'pending' | 'verified' | 'failed'
  verified: boolean
  verifiedBy: 'dns' | 'ses' | 'sandbox' | null
  /** Set when the domain counts as verified only because this installation sends no email. */
  notice: string | null
  records: {
    type: 'TXT' | 'CNAME'
    name: string
    value: string
    purpose: 'dkim' | 'dmarc' | 'link'
    /** The domain is verified when all required records are found. */
    required: boolean
    /** `pending`: not looked up yet. `unknown`: DNS did not reply. `sandbox`: not looked up, because this installation sends no email. */
    status: 'pending' | 'found' | 'missing' | 'mismatch' | 'unknown' | 'sandbox'
    /** Values published under this name. */
    found: string[]
  }[]
  lastCheckedAt: string | null
  lastError: string | null
  /** Host of the links of emails from this domain, while it is verified. */
  linkHost: string | null
  linkHostStatus: 'pending' | 'verified' | 'failed' | null
  linkHostError: string | null
  dkimTokens: string[]
  projectId: string
  createdAt: string
  updatedAt: string
  verifiedAt: string | null
}

export type DomainCheck = {
  domain: string
  tokens: string[]
  status: 'pending' | 'verified' | 'failed'
  verified: boolean
  verifiedBy: 'dns' | 'ses' | 'sandbox' | null
  /** Set when the domain counts as verified only because this installation sends no email. */
  notice: string | null
  records: {
    type: 'TXT' | 'CNAME'
    name: string
    value: string
    purpose: 'dkim' | 'dmarc' | 'link'
    /** The domain is verified when all required records are found. */
    required: boolean
    /** `pending`: not looked up yet. `unknown`: DNS did not reply. `sandbox`: not looked up, because this installation sends no email. */
    status: 'pending' | 'found' | 'missing' | 'mismatch' | 'unknown' | 'sandbox'
    /** Values published under this name. */
    found: string[]
  }[]
  lastCheckedAt: string | null
  lastError: string | null
  /** Host of the links of emails from this domain, while it is verified. */
  linkHost: string | null
  linkHostStatus: 'pending' | 'verified' | 'failed' | null
  linkHostError: string | null
}

export type DomainFigures = {
  domain: string
  /** True for all other domains together. */
  isOther: boolean
  /** Emails that were sent. */
  emails: number
  /** Emails reported as delivered. 0 if the transport reports none, as plain SMTP. */
  delivered: number
  /** Emails that a person opened, each at the time of its first open. */
  opens: number
  /** Emails in which a person clicked a link, each at the time of its first click. */
  clicks: number
  /** Emails that a machine opened, such as a privacy proxy. */
  machineOpens: number
  /** Emails in which a machine followed a link, such as a scanner. */
  machineClicks: number
  /** Hard bounces, with those refused during transmission. */
  bounces: number
  complaints: number
  /** By a link of an email. */
  unsubscribes: number
  /** Percent of the sent emails, with one decimal. */
  deliveryRate: number
  /** Percent of the sent emails, with one decimal. */
  openRate: number
  /** Percent of the sent emails, with one decimal. */
  clickRate: number
  /** Percent of the sent or refused emails, with one decimal. */
  bounceRate: number
  /** Percent of the sent emails, with one decimal. */
  complaintRate: number
}

export type Email = {
  id: string
  projectId: string
  contactId: string | null
  messageId: string
  /** As rendered. Before that, as written, with its variables. */
  subject: string
  from: string
  fromName: string | null
  /** The address that was used. Before that, the one that is known: an email to a contact goes to the address that the contact has when it leaves. */
  to: string
  toName: string | null
  replyTo: string | null
  sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  templateId: string | null
  /** The version of the template when the email was accepted. */
  templateVersion: number | null
  campaignId: string | null
  workflowExecutionId: string | null
  status: 'PENDING' | 'SENDING' | 'SENT' | 'DELIVERED' | 'OPENED' | 'CLICKED' | 'BOUNCED' | 'COMPLAINED' | 'FAILED' | 'SKIPPED'
  /** When it is to be sent, if its request gave a time. */
  sendAt: string | null
  sentAt: string | null
  deliveredAt: string | null
  openedAt: string | null
  clickedAt: string | null
  bouncedAt: string | null
  complainedAt: string | null
  /** Since when the email is handed over without a reply. Null when the outcome is known. */
  outcomeUnknownSince: string | null
  opens: number
  clicks: number
  error: string | null
  /** The class of `error`. docs/sending.md lists the classes for which a resend may help. */
  errorCode:
    | 'unsubscribed'
    | 'suppressed'
    | 'contact_deleted'
    | 'invalid'
    | 'project_deleted'
    | 'cancelled'
    | 'bounced'
    | 'rejected'
    | 'domain_not_verified'
    | 'rendering'
    | 'too_large'
    | 'transient'
    | 'expired'
    | 'outcome_unknown'
    | 'crashed'
    | 'provider_paused'
    | 'domain_paused'
    | 'throttled'
    | 'project_disabled'
    | 'verifying_refusal' | null
  attempts: number
  /** A test email: not tracked, without events, and in no counts. */
  test: boolean
  /** The failed email of which this one is a resend. */
  resentFrom: string | null
  /** `X-Request-ID` of the call that sent it. */
  requestId: string | null
  createdAt: string
  updatedAt: string
}

/** Every error, except for the few endpoints that respond with a plain `{ error }`. */
export type Error = {
  success: false
  error: {
    code:
      | 'BAD_REQUEST'
      | 'CONTACT_UNSUBSCRIBED'
      | 'INVALID_TOKEN'
      | 'MISSING_AUTH'
      | 'INVALID_API_KEY'
      | 'UNAUTHORIZED'
      | 'INVALID_CREDENTIALS'
      | 'INVALID_SIGNATURE'
      | 'BILLING_LIMIT_EXCEEDED'
      | 'FORBIDDEN'
      | 'CLAIM_CODE_REQUIRED'
      | 'INSUFFICIENT_SCOPE'
      | 'PROJECT_ACCESS_DENIED'
      | 'PROJECT_DISABLED'
      | 'DOMAIN_NOT_VERIFIED'
      | 'DOMAIN_SUSPENDED'
      | 'RESOURCE_NOT_FOUND'
      | 'CONTACT_NOT_FOUND'
      | 'TEMPLATE_NOT_FOUND'
      | 'CAMPAIGN_NOT_FOUND'
      | 'WORKFLOW_NOT_FOUND'
      | 'REQUEST_TIMEOUT'
      | 'CONFLICT'
      | 'IDEMPOTENCY_KEY_REUSED'
      | 'PAYLOAD_TOO_LARGE'
      | 'UNSUPPORTED_MEDIA_TYPE'
      | 'VALIDATION_ERROR'
      | 'RATE_LIMIT_EXCEEDED'
      | 'HEADERS_TOO_LARGE'
      | 'INTERNAL_SERVER_ERROR'
      | 'SERVICE_UNAVAILABLE'
    message: string
    statusCode: number
    requestId: string
    errors?: {
      field: string
      message: string
      code: string
      received?: unknown
    }[]
    details?: Record<string, unknown>
    suggestion?: string
  }
  timestamp: string
}

export type Event = {
  id: string
  name: string
  data: Record<string, unknown>
  contactId: string | null
  emailId: string | null
  projectId: string
  createdAt: string
}

export type EventNameDetails = {
  name: string
  /** Recorded by the service itself. */
  isReserved: boolean
  /** Events of all time. */
  count: number
  /** Contacts with such an event in the last 30 days. Null when counting them takes too long. */
  people: number | null
  lastSeenAt: string | null
  /** Events on each of the last 30 UTC days, today last. */
  days: number[]
}

export type ImportCheck = {
  dryRun: true
  totalRows: number
  validCount: number
  failureCount: number
  /** Valid rows whose address an earlier row has. Their values are merged. */
  duplicateCount: number
  /** Addresses that are no contacts yet. */
  newCount: number
  knownCount: number
  /** Valid rows that say that the contact is not subscribed. */
  unsubscribeCount: number
  /** Valid rows whose domain looks like a misspelt provider. They are imported as they are. */
  misspeltCount: number
  /** Why the rest of the file cannot be read. */
  fileError: string | null
  columns: {
    column: string
    /** `email`, `subscribed`, `data.<key>`, or null. */
    target: string | null
  }[]
  /** The first 100 invalid rows. */
  errors: {
    row: number
    email: string
    error: string
  }[]
  /** The first 100. */
  duplicates: {
    row: number
    email: string
  }[]
  /** The first 100. */
  misspelt: {
    row: number
    email: string
    suggestion: string
  }[]
}

export type Invitation = {
  id: string
  email: string
  role: 'ADMIN' | 'MEMBER'
  createdAt: string
  expiresAt: string
}

export type Invoice = {
  id: string
  number: string | null
  /** draft, open, paid, uncollectible or void */
  status: string | null
  currency: string
  /** In the smallest unit of the currency. */
  total: number
  amountDue: number
  amountPaid: number
  periodStart: string
  periodEnd: string
  dueAt: string | null
  createdAt: string
  /** Page of the invoice, with its payment. */
  url: string | null
  pdf: string | null
}

export type Job = {
  id: string
  jobId: string
  type: string
  state: 'waiting' | 'active' | 'completed' | 'failed'
  status: 'waiting' | 'active' | 'completed' | 'failed'
  /** 0 to 100 */
  progress: number
  result: Record<string, unknown> | null
  failedReason: string | null
  createdAt: string
  finishedAt: string | null
}

export type Member = {
  userId: string
  email: string
  role: 'OWNER' | 'ADMIN' | 'MEMBER'
  createdAt: string
}

export type Project = {
  id: string
  name: string
  /** Public key; null for members who are neither owner nor admin. */
  public: string | null
  /** Secret key; null for members who are neither owner nor admin. */
  secret: string | null
  /** Your role in this project. */
  role: 'OWNER' | 'ADMIN' | 'MEMBER'
  disabled: boolean
  disabledReason: string | null
  tracking: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
  language: 'en' | 'de' | 'fr' | 'es' | 'it' | 'nl' | 'pt' | 'pl' | 'ja' | 'zh'
  /** IANA name of the zone in which figures are shown. */
  timezone: string
  /** Fields that hold the name of a contact, the best first; several are joined by ` + `. Default: `name`, `firstName + lastName`. */
  nameFields: string[]
  brand: Brand
  customer: string | null
  subscription: string | null
  billingLimitWorkflows: number | null
  billingLimitCampaigns: number | null
  billingLimitTransactional: number | null
  billingLimitInbound: number | null
  createdAt: string
  updatedAt: string
}

export type ReputationFigures = {
  /** Emails sent, or refused by the receiver. Without emails of the sandbox and tests. */
  total: number
  /** Hard bounces of these emails. */
  bounces: number
  complaints: number
  /** From 0 to 1. */
  bounceRate: number
  complaintRate: number
}

export type Security = {
  status: {
    isHealthy: boolean
    /** A rate is critical: the project is disabled within a minute, unless that is switched off. */
    shouldDisable: boolean
    twentyFourHour: ReputationFigures
    sevenDay: ReputationFigures
    /** Since the last acknowledgement, if there is one. */
    allTime: ReputationFigures
    /** A sentence for each critical rate. */
    violations: string[]
    warnings: string[]
  }
  /** The last ten, the latest first. */
  suspensions: {
    at: string
    reason: string
    /** Null while it lasts. */
    until: string | null
    liftedBy: string | null
    /** The project was created while another project of its owner was suspended. */
    isInherited: boolean
    /** When an inherited suspension ends by itself. */
    endsAt: string | null
  }[]
  levels: {
    bounce7Day: 'healthy' | 'warning' | 'critical'
    bounceAllTime: 'healthy' | 'warning' | 'critical'
    complaint7Day: 'healthy' | 'warning' | 'critical'
    complaintAllTime: 'healthy' | 'warning' | 'critical'
  }
  isDisabled: boolean
  disabledReason: string | null
  /** Figures of all time, whatever was acknowledged. */
  history: ReputationFigures
  thresholds: {
    bounce7Day: {
      warning: number
      critical: number
    }
    bounceAllTime: {
      warning: number
      critical: number
    }
    complaint7Day: {
      warning: number
      critical: number
    }
    complaintAllTime: {
      warning: number
      critical: number
    }
  }
  /** A window with fewer emails is healthy. */
  minimumEmails: number
  disablesAutomatically: boolean
  acknowledgement: {
    at: string | null
    by: string | null
    /** The owner may acknowledge again from then on. Null: now. */
    nextAt: string | null
  }
}

export type Segment = {
  id: string
  name: string
  description: string | null
  type: 'DYNAMIC' | 'STATIC'
  /** Null for a static segment. */
  condition: Condition | null
  /** Part of the names of its events: `segment.<slug>.entry` and `segment.<slug>.exit`. Never changes. */
  slug: string
  trackMembership: boolean
  /** As last counted. */
  memberCount: number
  /** Time of that count. An old count is refreshed in the background when it is read. */
  countedAt: string | null
  /** True if the count was estimated from a sample. */
  countEstimated: boolean
  projectId: string
  createdAt: string
  updatedAt: string
}

export type SegmentChange = {
  /** The id of the event. */
  id: string
  type: 'entry' | 'exit'
  at: string
  /** Null if the contact was deleted. */
  contact: {
    id: string
    email: string
  } | null
}

export type SegmentUses = {
  id: string
  segmentCount: number
  campaignCount: number
  workflowCount: number
  /** Entries of the last seven days. Null if the segment is not tracked. */
  entered: number | null
  left: number | null
}

export type Session = {
  id: string
  /** The session of this request. */
  isCurrent: boolean
  /** Where the session was opened. */
  network: string
  userAgent: string | null
  createdAt: string
  expiresAt: string
}

export type Suppression = {
  /** The suppressed address. Null for a suppressed domain. */
  address: string | null
  /** The suppressed domain, with all its addresses. Null for a suppressed address. */
  domain: string | null
  reason: 'BOUNCE' | 'COMPLAINT' | 'MANUAL'
  createdAt: string
}

export type Template = {
  id: string
  name: string
  description: string | null
  subject: string
  /** Shown by inboxes beside the subject; hidden in the email itself. */
  previewText: string | null
  body: string
  /** Whether `body` was rendered from a design. */
  hasDesign: boolean
  from: string | null
  fromName: string | null
  replyTo: string | null
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  /** The workflow that it was written in, and with which it is deleted. */
  workflowId: string | null
  /** Grows with every change of subject, previewText, body, from, fromName, replyTo or type. */
  version: number
  projectId: string
  createdAt: string
  updatedAt: string
  /** The blocks that `body` was rendered from. Null for an email written as HTML. */
  design: Design | null
}

export type TemplateListItem = {
  id: string
  name: string
  description: string | null
  subject: string
  /** Shown by inboxes beside the subject; hidden in the email itself. */
  previewText: string | null
  body: string
  /** Whether `body` was rendered from a design. */
  hasDesign: boolean
  from: string | null
  fromName: string | null
  replyTo: string | null
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  /** The workflow that it was written in, and with which it is deleted. */
  workflowId: string | null
  /** Grows with every change of subject, previewText, body, from, fromName, replyTo or type. */
  version: number
  projectId: string
  createdAt: string
  updatedAt: string
}

export type TemplateVersion = {
  version: number
  isCurrent: boolean
  subject: string
  previewText: string | null
  from: string | null
  fromName: string | null
  replyTo: string | null
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  /** Size of the body. */
  bytes: number
  hasDesign: boolean
  /** Address of the person who saved it. Null for an API key. */
  savedBy: string | null
  savedAt: string
}

export type TopCampaign = {
  id: string
  name: string
  subject: string
  sentCount: number
  deliveredCount: number
  openedCount: number
  clickedCount: number
  bouncedCount: number
  complainedCount: number
  unsubscribedCount: number
  /** Percent of the sent emails, with one decimal. */
  openRate: number
  /** Percent of the sent emails, with one decimal. */
  clickRate: number
  startedAt: string | null
}

export type UpcomingActivity = {
  id: string
  type: 'campaign.scheduled' | 'workflow.email.scheduled' | 'email.scheduled'
  /** When it is due. */
  timestamp: string
  contactId: string | null
  contactEmail: string | null
  metadata: Record<string, unknown>
}

export type Upload = {
  /** For the `src` of an `<img>`. Public, and always the same image. */
  url: string
  key: string
  filename: string
  contentType: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'
  /** Size in bytes as stored, after re-encoding. */
  size: number
}

export type UpsertedContact = {
  id: string
  email: string
  subscribed: boolean
  data: Record<string, unknown> | null
  projectId: string
  createdAt: string
  updatedAt: string
  _meta: {
    isNew: boolean
    isUpdate: boolean
  }
}

export type User = {
  id: string
  email: string
  emailVerified: boolean
  /** Looks after this installation: may call `GET /doctor`. */
  operator: boolean
  createdAt: string
}

export type WebhookCampaignPaused = {
  type: 'campaign.paused'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      campaignId: string
      reason: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookCampaignSent = {
  type: 'campaign.sent'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      campaignId: string
      totalRecipients: number
      sentCount: number
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookCampaignStarted = {
  type: 'campaign.started'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      campaignId: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookContactCreated = {
  type: 'contact.created'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      subscribed: boolean
      source: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookContactDeleted = {
  type: 'contact.deleted'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookContactSubscribed = {
  type: 'contact.subscribed'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookContactUnsubscribed = {
  type: 'contact.unsubscribed'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      reason?: 'bounce' | 'complaint'
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookDelivery = {
  /** The `webhook-id` of every attempt. */
  id: string
  type: string
  status: 'pending' | 'delivered' | 'failed'
  /** The oldest first; at most 50. */
  attempts: {
    at: string
    /** The HTTP status of the reply; null if there was no reply. */
    status: number | null
    durationMs: number
    error: string | null
  }[]
  nextAttemptAt: string | null
  /** Null if it is no longer kept. */
  payload: WebhookPayload | null
  createdAt: string
}

export type WebhookDomainFailed = {
  type: 'domain.failed'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      domainId: string
      domain: string
      linkHost?: string
      reason?: string | null
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookDomainVerified = {
  type: 'domain.verified'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      domainId: string
      domain: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailBounce = {
  type: 'email.bounce'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      bounceType: 'Permanent' | 'Transient'
      reason?: string | null
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailClick = {
  type: 'email.click'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      link: string
      clicks: number
      isFirstClick: boolean
      /** Caused by a scanner, a prefetcher or a privacy proxy. */
      machine: boolean
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailComplaint = {
  type: 'email.complaint'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      reason?: string | null
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailDelivery = {
  type: 'email.delivery'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      deliveredAt: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailFailed = {
  type: 'email.failed'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      reason: string | null
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailOpen = {
  type: 'email.open'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      opens: number
      isFirstOpen: boolean
      /** Caused by a scanner, a prefetcher or a privacy proxy. */
      machine: boolean
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailReceived = {
  type: 'email.received'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      to: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEmailSent = {
  type: 'email.sent'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      emailId: string
      messageId: string | null
      /** As rendered. */
      subject: string | null
      from: string
      templateId: string | null
      campaignId: string | null
      workflowExecutionId: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      sentAt: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookEndpoint = {
  id: string
  url: string
  description: string | null
  events: string[]
  enabled: boolean
  /** Why Sterna disabled it: it answered 410, failed for five days, or more than a million deliveries waited. */
  disabledReason: 'gone' | 'failing' | 'backlog' | null
  /** Signs requests by Standard Webhooks (HMAC-SHA256). */
  secret: string
  /** After a rotation, requests are also signed with the secret before, until this time. */
  previousSecretUntil: string | null
  /** The first failure since the last request that succeeded. */
  failingSince: string | null
  /** Attempts of the last 24 hours. */
  health: {
    succeeded: number
    failed: number
    /** Share of attempts that succeeded, 0 to 1; null without attempts. */
    successRate: number | null
    /** Mean time from the request to the reply, or to its failure. */
    averageMs: number | null
  }
  createdAt: string
  updatedAt: string
}

/** A webhook about something that Sterna itself does. */
export type WebhookOwnEvent =
  | WebhookEmailSent
  | WebhookEmailDelivery
  | WebhookEmailOpen
  | WebhookEmailClick
  | WebhookEmailBounce
  | WebhookEmailComplaint
  | WebhookEmailFailed
  | WebhookEmailReceived
  | WebhookContactSubscribed
  | WebhookContactUnsubscribed
  | WebhookContactCreated
  | WebhookContactDeleted
  | WebhookCampaignStarted
  | WebhookCampaignSent
  | WebhookCampaignPaused
  | WebhookWorkflowCompleted
  | WebhookWorkflowFailed
  | WebhookDomainVerified
  | WebhookDomainFailed
  | WebhookProjectDisabled
  | WebhookProjectEnabled

export type WebhookPayload = {
  type: string
  /** When it happened. */
  timestamp: string
  data: WebhookRecord
}

export type WebhookProjectDisabled = {
  type: 'project.disabled'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      reason: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookProjectEnabled = {
  type: 'project.enabled'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookRecord = {
  id: string
  name: string
  data: Record<string, unknown>
  contactId: string | null
  emailId: string | null
  projectId: string
  createdAt: string
  contact: {
    id: string
    email: string | null
  } | null
}

export type WebhookSegment = {
  type: string
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      segmentId: string
      segmentName: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookTrackedEvent = {
  type: string
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookWorkflowCompleted = {
  type: 'workflow.completed'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      workflowId: string
      executionId: string
      exitReason?: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type WebhookWorkflowFailed = {
  type: 'workflow.failed'
  /** When it happened. */
  timestamp: string
  data: {
    id: string
    name: string
    data: {
      workflowId: string
      executionId: string
      exitReason?: string
    } & Record<string, unknown>
    contactId: string | null
    emailId: string | null
    projectId: string
    createdAt: string
    contact: {
      id: string
      email: string | null
    } | null
  }
}

export type Workflow = {
  id: string
  name: string
  description: string | null
  triggerType: 'EVENT' | 'MANUAL' | 'SCHEDULE'
  /** `EVENT`: `{eventName}`. `SCHEDULE`: `{schedule, timezone, segmentId}`, with a cron of five fields. `MANUAL`: empty. */
  triggerConfig: Record<string, unknown>
  enabled: boolean
  /** Whether a contact whose execution has ended may enter again. */
  allowReentry: boolean
  /** Grows with every change of steps or transitions. */
  version: number
  projectId: string
  createdAt: string
  updatedAt: string
  steps: WorkflowStep[]
  transitions: WorkflowTransition[]
  /** Problems that keep the workflow from doing what it should. It can be enabled nevertheless. */
  problems: {
    stepId: string | null
    code:
      | 'no_steps'
      | 'unreachable'
      | 'no_sender'
      | 'template_missing'
      | 'segment_missing'
      | 'trigger_incomplete'
      | 'loop_without_pause'
      | 'value_missing'
    message: string
  }[]
}

export type WorkflowExecution = {
  id: string
  workflowId: string
  contactId: string
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED'
  currentStepId: string | null
  exitReason: string | null
  context: Record<string, unknown>
  startedAt: string
  completedAt: string | null
  createdAt: string
  updatedAt: string
}

export type WorkflowExecutionDetails = {
  id: string
  workflowId: string
  contactId: string
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED'
  currentStepId: string | null
  exitReason: string | null
  context: Record<string, unknown>
  startedAt: string
  completedAt: string | null
  createdAt: string
  updatedAt: string
  /** Version of the graph that it follows. */
  version: number
  /** The event that started it. Null: started by request or schedule. */
  event: unknown
  /** When it goes on, unless by an event: the end of its pause, or the deadline of a wait. */
  dueAt: string | null
  /** Name of the event that it waits for. */
  awaits: string | null
  /** Null: the contact was deleted. */
  contact: {
    id: string
    email: string
  } | null
  currentStep: {
    id: string
    name: string
    type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
  } | null
  /** The last 200, in order. */
  stepExecutions: {
    id: string
    stepId: string
    visit: number
    status: 'PENDING' | 'SCHEDULED' | 'WAITING' | 'RUNNING' | 'COMPLETED' | 'SKIPPED' | 'FAILED'
    /** The figure of the step that counts it. */
    outcome: 'waiting' | 'completed' | 'skipped' | 'failed' | 'cancelled'
    scheduledFor: string | null
    input: unknown
    output: unknown
    error: string | null
    emailId: string | null
    startedAt: string
    completedAt: string | null
    step: {
      id: string
      name: string
      type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
    } | null
  }[]
}

export type WorkflowExecutionItem = {
  id: string
  workflowId: string
  contactId: string
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED'
  currentStepId: string | null
  exitReason: string | null
  context: Record<string, unknown>
  startedAt: string
  completedAt: string | null
  createdAt: string
  updatedAt: string
  /** Version of the graph that it follows. */
  version: number
  /** When it goes on, unless by an event: the end of its pause, or the deadline of a wait. */
  dueAt: string | null
  /** Name of the event that it waits for. */
  awaits: string | null
  contact: {
    id: string
    email: string
  } | null
  currentStep: {
    id: string
    name: string
    type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
  } | null
}

export type WorkflowItem = {
  id: string
  name: string
  description: string | null
  triggerType: 'EVENT' | 'MANUAL' | 'SCHEDULE'
  /** `EVENT`: `{eventName}`. `SCHEDULE`: `{schedule, timezone, segmentId}`, with a cron of five fields. `MANUAL`: empty. */
  triggerConfig: Record<string, unknown>
  enabled: boolean
  /** Whether a contact whose execution has ended may enter again. */
  allowReentry: boolean
  /** Grows with every change of steps or transitions. */
  version: number
  projectId: string
  createdAt: string
  updatedAt: string
  /** The first of the last 30 days, today included, in UTC: `startedFrom` of the executions counted. */
  enteredSince: string
  _count: {
    steps: number
    /** Without those that were deleted by age, as the other counts. */
    executions: number
    /** RUNNING or WAITING. */
    active: number
    /** COMPLETED or EXITED. */
    finished: number
    failed: number
    cancelled: number
    /** Started since `enteredSince`. */
    entered30Days: number
  }
}

export type WorkflowRecipe = {
  key: string
  name: string
  description: string
  triggerType: 'EVENT' | 'MANUAL' | 'SCHEDULE'
  /** The event that starts it. Null: a schedule does. */
  eventName: string | null
  /** Events to track and fields of contacts, without which it does nothing. */
  needs: {
    kind: 'event' | 'field'
    name: string
    when: string
    /** A request that brings it. Null: Sterna records it by itself. */
    snippet: string | null
  }[]
  emails: {
    name: string
    subject: string
    type: 'MARKETING' | 'TRANSACTIONAL'
  }[]
  /** In the order of the outline. */
  steps: {
    type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
    name: string
  }[]
}

export type WorkflowStep = {
  id: string
  workflowId: string
  type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
  name: string
  position: {
    x: number
    y: number
  }
  /** By type: see docs/workflows.md. */
  config: Record<string, unknown>
  templateId: string | null
  createdAt: string
  updatedAt: string
  outgoingTransitions: WorkflowTransition[]
  incomingTransitions: WorkflowTransition[]
}

export type WorkflowTransition = {
  id: string
  fromStepId: string
  toStepId: string
  /** `yes`, `no`, the id of a branch, `default` or `timeout`. Null: the plain transition. */
  branch: string | null
  /** The branch once more. */
  condition: {
    branch: string
  } | null
  priority: number
  createdAt: string
}

export type WorkflowVersion = {
  version: number
  isCurrent: boolean
  /** Number of steps, with the TRIGGER step. */
  steps: number
  /** Address of the person who saved it. Null for an API key. */
  savedBy: string | null
  savedAt: string
}

export type WorkflowVisit = {
  id: string
  executionId: string
  contactId: string
  stepId: string
  /** Number of the visit in its execution. */
  visit: number
  status: 'PENDING' | 'SCHEDULED' | 'WAITING' | 'RUNNING' | 'COMPLETED' | 'SKIPPED' | 'FAILED'
  /** The figure of the step that counts it. */
  outcome: 'waiting' | 'completed' | 'skipped' | 'failed' | 'cancelled'
  /** Why it was skipped or cancelled, or failed. */
  reason: string | null
  error: string | null
  emailId: string | null
  scheduledFor: string | null
  startedAt: string
  completedAt: string | null
  /** The last reply to the request of a WEBHOOK step, null for other steps. `status` is null if there was no reply. */
  webhook: {
    status: number | null
    durationMs: number
    attempts: number
  } | null
  /** Null: the contact was deleted. */
  contact: {
    id: string
    email: string
  } | null
}

/** The input and the 2xx response of every endpoint. */
export interface Operations {
  /**
   * List activities, newest first
   *
   * Emails, events, subscriptions, suppressions, campaigns and workflows in one list. With `contactId` or dates `total` stops at 10,000.
   */
  'GET /activity': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      /** Types separated by commas, or the parameter several times. Unknown ones are ignored. */
      types?: string
      contactId?: string
      /** A day or time. Days are those of UTC. */
      startDate?: string
      /** A day or time, included. */
      endDate?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: Activity[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Count the activities of the last minutes
   *
   * Counts up to 100,000.
   */
  'GET /activity/recent-count': {
    params: undefined
    query: {
      /** 1 to 1,440, default 5. A larger number counts as the maximum, any other value as the default. */
      minutes?: number
    }
    headers: undefined
    body: undefined
    response: {
      count: number
      minutes: number
    }
  }

  /**
   * Count activities
   *
   * By whole UTC days, including those of `startDate` and `endDate`; without dates of all time.
   */
  'GET /activity/stats': {
    params: undefined
    query: {
      startDate?: string
      endDate?: string
    }
    headers: undefined
    body: undefined
    response: ActivityStats
  }

  /** List the types of activities */
  'GET /activity/types': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      types: (
        | 'event.triggered'
        | 'email.sent'
        | 'email.delivered'
        | 'email.opened'
        | 'email.clicked'
        | 'email.bounced'
        | 'email.complaint'
        | 'email.failed'
        | 'email.received'
        | 'contact.subscribed'
        | 'contact.unsubscribed'
        | 'workflow.started'
        | 'workflow.completed'
        | 'workflow.failed'
        | 'campaign.sent'
        | 'email.skipped'
        | 'contact.suppressed')[]
      /** Types that have happened in this project. */
      seen: (
        | 'event.triggered'
        | 'email.sent'
        | 'email.delivered'
        | 'email.opened'
        | 'email.clicked'
        | 'email.bounced'
        | 'email.complaint'
        | 'email.failed'
        | 'email.received'
        | 'contact.subscribed'
        | 'contact.unsubscribed'
        | 'workflow.started'
        | 'workflow.completed'
        | 'workflow.failed'
        | 'campaign.sent'
        | 'email.skipped'
        | 'contact.suppressed')[]
    }
  }

  /**
   * List what is due next
   *
   * Scheduled campaigns, and executions of workflows whose pause ends, the next first.
   */
  'GET /activity/upcoming': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      /** 1 to 366, default 30. A larger number counts as the maximum, any other value as the default. */
      daysAhead?: number
    }
    headers: undefined
    body: undefined
    response: {
      activities: UpcomingActivity[]
    }
  }

  /**
   * Count campaigns by status, and their results
   *
   * With dates: of campaigns that began in the period.
   */
  'GET /analytics/campaign-stats': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
    }
    headers: undefined
    body: undefined
    response: CampaignBreakdown
  }

  /**
   * Get the time from acceptance to delivery
   *
   * For emails whose delivery was reported on these UTC days.
   */
  'GET /analytics/delivery-times': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
      /** `TRANSACTIONAL`, `CAMPAIGN` or `WORKFLOW`. Any other value counts as all of them, the default. */
      source?: string
      campaignId?: string
      templateId?: string
      workflowId?: string
    }
    headers: undefined
    body: undefined
    response: DeliveryTimes
  }

  /**
   * Get figures of emails by domain of the recipient
   *
   * The 100 largest domains of a UTC day are counted apart, the others together.
   */
  'GET /analytics/domains': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
    }
    headers: undefined
    body: undefined
    response: DomainFigures[]
  }

  /**
   * Get new, unsubscribed and deleted contacts by day and source
   *
   * By UTC day.
   */
  'GET /analytics/growth': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
    }
    headers: undefined
    body: undefined
    response: ContactGrowth
  }

  /**
   * List campaigns, templates or workflows by clicks
   *
   * By the share of emails that were clicked in the period. Those with fewer than 50 sent emails come last.
   */
  'GET /analytics/leaders': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
      /** `campaign` or `template` or `workflow`. Any other value counts as `campaign`, the default. */
      by?: string
      /** 1 to 100, default 10. A larger number counts as the maximum, any other value as the default. */
      limit?: number
    }
    headers: undefined
    body: undefined
    response: AnalyticsLeader[]
  }

  /**
   * Get the figures of a period and of the one before
   *
   * By UTC day.
   */
  'GET /analytics/summary': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
    }
    headers: undefined
    body: undefined
    response: {
      current: AnalyticsTotals
      previous: AnalyticsTotals
    }
  }

  /**
   * Get figures of emails by day or hour
   *
   * One point per day or hour, also if nothing happened. Each figure counts at the time at which it happened, a few seconds later. At most 731 days, by the hour 31.
   */
  'GET /analytics/timeseries': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
      /** `TRANSACTIONAL`, `CAMPAIGN` or `WORKFLOW`. Any other value counts as all of them, the default. */
      source?: string
      campaignId?: string
      templateId?: string
      workflowId?: string
      /** `day` or `hour`. Any other value counts as `day`, the default. */
      interval?: string
      /** IANA name of a time zone, such as Europe/Berlin: days and hours are those of the zone. Default: UTC. */
      timezone?: string
    }
    headers: undefined
    body: undefined
    response: AnalyticsPoint[]
  }

  /**
   * List the best campaigns
   *
   * Campaigns that began in the period, or all campaigns if no period is given.
   */
  'GET /analytics/top-campaigns': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
      /** 1 to 100, default 10. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      /** `opens`, `clicks`, `sent`, `openRate` or `clickRate`. Any other value counts as `opens`, the default. By rate, campaigns with fewer than 50 sent emails come last. */
      metric?: string
    }
    headers: undefined
    body: undefined
    response: TopCampaign[]
  }

  /**
   * List the most frequent events
   *
   * Events that API clients track, by UTC day.
   */
  'GET /analytics/top-events': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
      /** 1 to 100, default 10. A larger number counts as the maximum, any other value as the default. */
      limit?: number
    }
    headers: undefined
    body: undefined
    response: {
      name: string
      count: number
      /** In the period of the same length before. */
      previousCount: number
      /** Change against the period before, in percent with one decimal. Null if there were none. */
      trend: number | null
    }[]
  }

  /** Get figures of emails by hour of the week */
  'GET /analytics/weekday-hours': {
    params: undefined
    query: {
      /** First day, included. Default: 29 days before the last one. */
      startDate?: string
      /** Last day, included. Default: today. */
      endDate?: string
      /** `TRANSACTIONAL`, `CAMPAIGN` or `WORKFLOW`. Any other value counts as all of them, the default. */
      source?: string
      campaignId?: string
      templateId?: string
      workflowId?: string
      /** IANA name of a time zone, such as Europe/Berlin: days and hours are those of the zone. Default: UTC. */
      timezone?: string
    }
    headers: undefined
    body: undefined
    response: {
      /** 1 (Monday) to 7. */
      weekday: number
      hour: number
      /** Emails that were sent. */
      emails: number
      /** Emails reported as delivered. 0 if the transport reports none, as plain SMTP. */
      delivered: number
      /** Emails that a person opened, each at the time of its first open. */
      opens: number
      /** Emails in which a person clicked a link, each at the time of its first click. */
      clicks: number
      /** Emails that a machine opened, such as a privacy proxy. */
      machineOpens: number
      /** Emails in which a machine followed a link, such as a scanner. */
      machineClicks: number
      /** Hard bounces, with those refused during transmission. */
      bounces: number
      complaints: number
      /** By a link of an email. */
      unsubscribes: number
    }[]
  }

  /** Accept an invitation */
  'POST /auth/accept-invitation': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      token: string
    }
    response: {
      success: true
      projectId: string
    }
  }

  /**
   * Change your password
   *
   * Signs out all other sessions.
   */
  'POST /auth/change-password': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      currentPassword: string
      password: string
    }
    response: {
      success: true
    }
  }

  /**
   * Verify your own email address without a link
   *
   * For the operator of an installation in the sandbox, which sends no account emails. Others verify by the link of the email.
   */
  'POST /auth/confirm-address': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      success: true
    }
  }

  /**
   * Get the invitation of a link
   *
   * The project, and the person that invites to it. Changes nothing. For a page that anyone may open: a wrong token is no error.
   */
  'POST /auth/invitation': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      token: string
    }
    response: {
      /** Null: wrong, used, withdrawn, replaced or expired. */
      invitation: {
        /** The invited address. */
        email: string
        role: 'ADMIN' | 'MEMBER'
        project: {
          name: string
        }
        /** Null: the account of the inviter is gone. */
        invitedBy: {
          email: string
        } | null
        expiresAt: string
      } | null
    }
  }

  /** Sign in */
  'POST /auth/login': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      email: string
      password: string
    }
    response: {
      success: true
      id: string
      email: string
    }
  }

  /** Sign out */
  'GET /auth/logout': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      success: true
    }
  }

  /** List configured OAuth providers */
  'GET /auth/oauth-config': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      github: boolean
      google: boolean
      oidc: boolean
    }
  }

  /**
   * Request a password reset
   *
   * Responds the same whether or not the address has an account.
   */
  'POST /auth/request-password-reset': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      email: string
    }
    response: {
      success: true
    }
  }

  /** Resend the verification email */
  'POST /auth/request-verification': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      success: true
    }
  }

  /** Reset a password */
  'POST /auth/reset-password': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      token: string
      password: string
    }
    response: {
      success: true
    }
  }

  /**
   * Get the current user, if signed in
   *
   * For pages that anyone may open: not being signed in is no error here.
   */
  'GET /auth/session': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      user: User | null
    }
  }

  /** Create an account and sign in */
  'POST /auth/signup': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      email: string
      password: string
      invitation?: string
      /** For the first account of an installation that others can reach: it is in the log of every node. */
      claimCode?: string
    }
    response: {
      success: true
      id: string
      email: string
    }
  }

  /** Verify an email address */
  'POST /auth/verify-email': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      token: string
    }
    response: {
      success: true
    }
  }

  /** List campaigns */
  'GET /campaigns': {
    params: undefined
    query: {
      /** 1 to 1,000,000,000, default 1. A larger number counts as the maximum, any other value as the default. */
      page?: number
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      pageSize?: number
      /** `DRAFT`, `SCHEDULED`, `SENDING`, `SENT`, `CANCELLED`. Any other value is refused with 400. */
      status?: string
      segmentId?: string
      /** Case-insensitive search in name, subject and sender address. */
      search?: string
      /** By the date that matters: when the campaign was sent, is being sent since, or is scheduled for; of a draft or a cancelled one its last change. */
      dateFrom?: string
      /** As `dateFrom`. A date means the whole day in UTC. */
      dateTo?: string
      /** `name` or `date` or `createdAt` or `updatedAt`. Any other value counts as `createdAt`, the default. */
      sort?: string
      /** `asc` or `desc`. Any other value counts as `desc`, the default. */
      dir?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: CampaignListItem[]
      total: number
      page: number
      pageSize: number
      totalPages: number
    }
  }

  /**
   * Create a campaign
   *
   * Creates a draft. An unverified sender is refused with 403.
   */
  'POST /campaigns': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      name: string
      description?: string | null
      subject: string
      /** HTML. Ignored when a design is given, else required to create something. */
      body?: string
      /** Blocks instead of HTML. Null drops a design and keeps the HTML. */
      design?: DesignInput | null
      previewText?: string | null
      /** Must be on a verified domain. */
      from: string
      fromName?: string | null
      replyTo?: string | null
      /** `MARKETING` by default. */
      type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
      audienceType: 'ALL' | 'SEGMENT' | 'FILTERED'
      /** Required for the audience `SEGMENT`, else ignored. */
      segmentId?: string | null
      /** Required for the audience `FILTERED`, else ignored. */
      audienceCondition?: ConditionInput | null
      /** Where the content came from. */
      templateId?: string | null
      ratePerMinute?: number | null
    }
    response: {
      success: true
      data: Campaign
    }
  }

  /** Get the status of an export of a campaign */
  'GET /campaigns/export/{jobId}': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Job
  }

  /** Download the file of an export of a campaign */
  'GET /campaigns/export/{jobId}/file': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /** Get a campaign */
  'GET /campaigns/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Campaign
  }

  /**
   * Replace a campaign
   *
   * Replaces the content and the audience of a draft or a scheduled campaign.
   */
  'PUT /campaigns/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: {
      /** The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision. */
      'If-Match'?: string
    }
    body: {
      name: string
      description?: string | null
      subject: string
      /** HTML. Ignored when a design is given, else required to create something. */
      body?: string
      /** Blocks instead of HTML. Null drops a design and keeps the HTML. */
      design?: DesignInput | null
      previewText?: string | null
      /** Must be on a verified domain. */
      from: string
      fromName?: string | null
      replyTo?: string | null
      /** `MARKETING` by default. */
      type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
      audienceType: 'ALL' | 'SEGMENT' | 'FILTERED'
      /** Required for the audience `SEGMENT`, else ignored. */
      segmentId?: string | null
      /** Required for the audience `FILTERED`, else ignored. */
      audienceCondition?: ConditionInput | null
      /** Where the content came from. */
      templateId?: string | null
      ratePerMinute?: number | null
      /** For a scheduled campaign: another time, or null to make it a draft again. Ignored for a draft. */
      scheduledFor?: string | null
    }
    response: Campaign
  }

  /**
   * Delete a campaign
   *
   * Refused while it is scheduled or being sent. Its emails stay.
   */
  'DELETE /campaigns/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * List the audience of a campaign
   *
   * The contacts behind the numbers of `preflight`: who would get it now, and who would not.
   */
  'GET /campaigns/{id}/audience': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      /** One part of the sum of `preflight`. Without it, all contacts that match. */
      part?: 'recipients' | 'unsubscribed' | 'suppressed' | 'invalid'
      /** Part of an address. */
      search?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: CampaignAudienceContact[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * List what was done to a campaign
   *
   * Starts, schedules, pauses, resumes, cancellations and resends, each with its author, newest first.
   */
  'GET /campaigns/{id}/audit': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: CampaignAuditEntry[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Cancel a campaign
   *
   * The campaign must be scheduled or being sent. No further email is sent, except for messages that are on the wire.
   */
  'POST /campaigns/{id}/cancel': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Campaign
  }

  /**
   * Copy recipients of a campaign to a new static segment
   *
   * By a job. The segment is there at once; recipients whose contact was deleted are left out.
   */
  'POST /campaigns/{id}/copy-to-segment': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** Name of the new segment. */
      name: string
      /** As in the list of recipients. */
      filter?: {
        status?:
          | 'PENDING'
          | 'SENDING'
          | 'SENT'
          | 'DELIVERED'
          | 'OPENED'
          | 'CLICKED'
          | 'BOUNCED'
          | 'COMPLAINED'
          | 'FAILED'
          | 'SKIPPED'
        outcome?: 'sent' | 'failed' | 'skipped' | 'open'
        reason?:
          | 'unsubscribed'
          | 'suppressed'
          | 'contact_deleted'
          | 'invalid'
          | 'project_deleted'
          | 'cancelled'
          | 'bounced'
          | 'rejected'
          | 'domain_not_verified'
          | 'rendering'
          | 'too_large'
          | 'transient'
          | 'expired'
          | 'outcome_unknown'
          | 'crashed'
          | 'provider_paused'
          | 'domain_paused'
          | 'throttled'
          | 'project_disabled'
          | 'verifying_refusal'
        /** The recipients behind a counter: `opened` lists `openedCount` recipients, also those that clicked later. */
        activity?:
          | 'delivered'
          | 'bounced'
          | 'complained'
          | 'opened'
          | 'clicked'
          | 'machineOpened'
          | 'machineClicked'
          | 'unsubscribed'
          | 'notOpened'
          | 'notClicked'
        /** Recipients that clicked this link, without machines. */
        link?: string
        /** An address, or part of it. */
        search?: string
      }
    }
    response: {
      message: string
      jobId: string
      segmentId: string
    }
  }

  /**
   * Duplicate a campaign
   *
   * Copies content and audience into a new draft.
   */
  'POST /campaigns/{id}/duplicate': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Campaign
  }

  /**
   * List the excluded contacts of a campaign
   *
   * Contacts that matched the audience when the campaign started, and might not get the email.
   */
  'GET /campaigns/{id}/excluded': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      reason?: 'unsubscribed' | 'suppressed' | 'invalid'
    }
    headers: undefined
    body: undefined
    response: {
      data: CampaignExcludedContact[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Export recipients or excluded contacts of a campaign
   *
   * As CSV, by a job. At most two unfinished exports per project.
   */
  'POST /campaigns/{id}/export': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      list: 'recipients' | 'excluded'
      /** As in the list. Excluded contacts are filtered by `reason` only. */
      filter?: {
        status?:
          | 'PENDING'
          | 'SENDING'
          | 'SENT'
          | 'DELIVERED'
          | 'OPENED'
          | 'CLICKED'
          | 'BOUNCED'
          | 'COMPLAINED'
          | 'FAILED'
          | 'SKIPPED'
        outcome?: 'sent' | 'failed' | 'skipped' | 'open'
        reason?:
          | 'unsubscribed'
          | 'suppressed'
          | 'contact_deleted'
          | 'invalid'
          | 'project_deleted'
          | 'cancelled'
          | 'bounced'
          | 'rejected'
          | 'domain_not_verified'
          | 'rendering'
          | 'too_large'
          | 'transient'
          | 'expired'
          | 'outcome_unknown'
          | 'crashed'
          | 'provider_paused'
          | 'domain_paused'
          | 'throttled'
          | 'project_disabled'
          | 'verifying_refusal'
        /** The recipients behind a counter: `opened` lists `openedCount` recipients, also those that clicked later. */
        activity?:
          | 'delivered'
          | 'bounced'
          | 'complained'
          | 'opened'
          | 'clicked'
          | 'machineOpened'
          | 'machineClicked'
          | 'unsubscribed'
          | 'notOpened'
          | 'notClicked'
        /** Recipients that clicked this link, without machines. */
        link?: string
        /** An address, or part of it. */
        search?: string
      }
    }
    response: {
      message: string
      jobId: string
    }
  }

  /**
   * List the first 48 hours of a campaign
   *
   * Emails sent, and recipients that opened or clicked, by hour. Empty before the start.
   */
  'GET /campaigns/{id}/hours': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      data: CampaignHour[]
    }
  }

  /**
   * List the links of a campaign
   *
   * Clicks and people, without machines; first the links that most people clicked, last those that nobody clicked. A link with variables is listed as it was clicked, or as it is written if nobody clicked it.
   */
  'GET /campaigns/{id}/links': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      data: CampaignLink[]
    }
  }

  /**
   * Show the clicks of a campaign on its email
   *
   * Renders the email for a made-up recipient, with a label at each tracked link: the people that clicked it, and their share. A link that is at several places has one figure.
   */
  'POST /campaigns/{id}/links/preview': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: CampaignClicksPreview
  }

  /** Pause a campaign that is being sent */
  'POST /campaigns/{id}/pause': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Campaign
  }

  /**
   * Check a campaign before sending it
   *
   * Recipients, excluded contacts, missing values, and the time it will take. Sending does not need it.
   */
  'GET /campaigns/{id}/preflight': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: CampaignPreflight
  }

  /**
   * Change the rate of a campaign
   *
   * Also while it is being sent.
   */
  'PUT /campaigns/{id}/rate': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      ratePerMinute: number | null
    }
    response: Campaign
  }

  /**
   * Count the recipients of a campaign by reason
   *
   * Recipients whose email failed, was skipped or is open. Sent emails have no reason.
   */
  'GET /campaigns/{id}/reasons': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      data: CampaignReason[]
    }
  }

  /**
   * List the recipients of a campaign
   *
   * With the outcome of each and its reason. Recipients are fixed when the campaign starts.
   */
  'GET /campaigns/{id}/recipients': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      status?:
        | 'PENDING'
        | 'SENDING'
        | 'SENT'
        | 'DELIVERED'
        | 'OPENED'
        | 'CLICKED'
        | 'BOUNCED'
        | 'COMPLAINED'
        | 'FAILED'
        | 'SKIPPED'
      outcome?: 'sent' | 'failed' | 'skipped' | 'open'
      reason?:
        | 'unsubscribed'
        | 'suppressed'
        | 'contact_deleted'
        | 'invalid'
        | 'project_deleted'
        | 'cancelled'
        | 'bounced'
        | 'rejected'
        | 'domain_not_verified'
        | 'rendering'
        | 'too_large'
        | 'transient'
        | 'expired'
        | 'outcome_unknown'
        | 'crashed'
        | 'provider_paused'
        | 'domain_paused'
        | 'throttled'
        | 'project_disabled'
        | 'verifying_refusal'
      /** The recipients behind a counter: `opened` lists `openedCount` recipients, also those that clicked later. */
      activity?:
        | 'delivered'
        | 'bounced'
        | 'complained'
        | 'opened'
        | 'clicked'
        | 'machineOpened'
        | 'machineClicked'
        | 'unsubscribed'
        | 'notOpened'
        | 'notClicked'
      /** Recipients that clicked this link, without machines. */
      link?: string
      /** An address, or part of it. */
      search?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: CampaignRecipient[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Resend a campaign to the recipients that failed
   *
   * Queues the emails again that failed for a reason that may have passed; `docs/campaigns.md` lists the reasons. The campaign must be SENT, and is SENDING until they have ended. Refused with 400 if there are none.
   */
  'POST /campaigns/{id}/resend': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** Also emails whose outcome is unknown: their recipients may get the email twice. */
      includeUnknown?: boolean | null
    } | undefined
    response: Campaign
  }

  /**
   * Resume a campaign
   *
   * No recipient gets the email twice.
   */
  'POST /campaigns/{id}/resume': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Campaign
  }

  /**
   * Send or schedule a campaign
   *
   * Its recipients are the contacts that match the audience when it starts and may get the email then. Refused with 400 if there are none, and with 402 if they are more than the billing limit allows. With `scheduledFor` it is paused instead when it is due. A scheduled campaign is scheduled again.
   */
  'POST /campaigns/{id}/send': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** Without it, the campaign is sent now. */
      scheduledFor?: string | null
      /** Schedules the campaign in this many seconds; until then it can be changed. */
      delaySeconds?: number | null
    } | undefined
    response: Campaign
  }

  /** Get the results of a campaign */
  'GET /campaigns/{id}/stats': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: CampaignStats
  }

  /**
   * Send a test email of a campaign
   *
   * Sends the campaign to one address, with `[TEST]` in its subject. Rendered for the contact with this address, if there is one. Ignores subscriptions, not suppressions. The email has `test: true`, is not tracked, and is in no counts. At most 60 an hour and project.
   */
  'POST /campaigns/{id}/test': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      email: string
    }
    response: {
      /** False when the email is not sent, because the address is suppressed. */
      success: boolean
      message: string
      /** The record of the email, with `test: true`. */
      emailId: string
    }
  }

  /** Get the features of this installation */
  'GET /config': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      environment: string
      urls: {
        api: string
        dashboard: string
      }
      features: {
        billing: {
          enabled: boolean
        }
        storage: {
          kind: 'disk' | 's3'
        }
        authProviders: {
          github: boolean
          google: boolean
          oidc: boolean
        }
        signup: {
          signupsDisabled: boolean
          /** False until the first account, that of the operator, was created. */
          hasAccounts: boolean
          /** Whether the next sign-up, as the first one, needs `claimCode`. */
          needsClaimCode: boolean
        }
        email: {
          /** How email is sent. `null` until the first worker has started. */
          transport: 'sandbox' | 'smtp' | 'ses' | null
          sandbox: boolean
        }
        /** Where this node accepts messages by SMTP. */
        smtp: {
          enabled: boolean
          host: string | null
          port: number | null
          /** `none`: without a certificate. */
          tls: 'starttls' | 'implicit' | 'none' | null
          /** Whether clients on other machines may log in without encryption. */
          plaintext: boolean
        }
      }
    }
  }

  /** List contacts */
  'GET /contacts': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      /** Part of the address, case-insensitive. */
      search?: string
      /** Part of the address or of the name, case-insensitive. `nameFields` of the project hold the name. */
      q?: string
      subscribed?: boolean | 'true' | 'false'
      /** Name of a field, such as `plan` or `data.plan`; requires `value`. */
      field?: string
      value?: string
      /** A time, or a date, which means the whole day in UTC. */
      createdFrom?: string
      /** A time, or a date, which means the whole day in UTC. */
      createdTo?: string
      segmentId?: string
      /** A condition as JSON text, such as that of a segment: only contacts that match it. */
      condition?: string
      /** `createdAt` or `email`. Any other value counts as `createdAt`, the default. */
      sort?: string
      /** `asc` or `desc`. Any other value counts as `desc`, the default. */
      dir?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: Contact[]
      cursor: string | null
      hasMore: boolean
      total: number
      /** True if `q` searched for a second and did not look at every contact. The cursor leads on. */
      partial?: boolean
    }
  }

  /** Create or update a contact */
  'POST /contacts': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      email: string
      subscribed?: boolean
      data?: Record<string, unknown> | null
    }
    response: UpsertedContact
  }

  /**
   * Add many contacts to a static segment
   *
   * Queues a job.
   */
  'POST /contacts/bulk-add-to-segment': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      mode?: 'ids' | 'query'
      contactIds?: string[]
      ids?: string[]
      filter?: {
        /** Part of the address, case-insensitive. */
        search?: string
        /** Part of the address or of the name, case-insensitive. `nameFields` of the project hold the name. */
        q?: string
        subscribed?: boolean
        segmentId?: string
        condition?: ConditionInput
        /** Name of a field, such as `plan` or `data.plan`; requires `value`. */
        field?: string
        value?: string | number | boolean
        /** A time, or a date, which means the whole day in UTC. */
        createdFrom?: string
        /** A time, or a date, which means the whole day in UTC. */
        createdTo?: string
      }
      excludeIds?: string[]
      /** Act on every contact when the filter is empty. */
      all?: boolean
      /** A static segment. */
      segmentId: string
    }
    response: {
      message: string
      jobId: string
    }
  }

  /**
   * Delete many contacts
   *
   * Queues a job.
   */
  'POST /contacts/bulk-delete': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      mode?: 'ids' | 'query'
      contactIds?: string[]
      ids?: string[]
      filter?: {
        /** Part of the address, case-insensitive. */
        search?: string
        /** Part of the address or of the name, case-insensitive. `nameFields` of the project hold the name. */
        q?: string
        subscribed?: boolean
        segmentId?: string
        condition?: ConditionInput
        /** Name of a field, such as `plan` or `data.plan`; requires `value`. */
        field?: string
        value?: string | number | boolean
        /** A time, or a date, which means the whole day in UTC. */
        createdFrom?: string
        /** A time, or a date, which means the whole day in UTC. */
        createdTo?: string
      }
      excludeIds?: string[]
      /** Act on every contact when the filter is empty. */
      all?: boolean
    }
    response: {
      message: string
      jobId: string
    }
  }

  /**
   * Subscribe many contacts
   *
   * Queues a job.
   */
  'POST /contacts/bulk-subscribe': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      mode?: 'ids' | 'query'
      contactIds?: string[]
      ids?: string[]
      filter?: {
        /** Part of the address, case-insensitive. */
        search?: string
        /** Part of the address or of the name, case-insensitive. `nameFields` of the project hold the name. */
        q?: string
        subscribed?: boolean
        segmentId?: string
        condition?: ConditionInput
        /** Name of a field, such as `plan` or `data.plan`; requires `value`. */
        field?: string
        value?: string | number | boolean
        /** A time, or a date, which means the whole day in UTC. */
        createdFrom?: string
        /** A time, or a date, which means the whole day in UTC. */
        createdTo?: string
      }
      excludeIds?: string[]
      /** Act on every contact when the filter is empty. */
      all?: boolean
    }
    response: {
      message: string
      jobId: string
    }
  }

  /**
   * Unsubscribe many contacts
   *
   * Queues a job.
   */
  'POST /contacts/bulk-unsubscribe': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      mode?: 'ids' | 'query'
      contactIds?: string[]
      ids?: string[]
      filter?: {
        /** Part of the address, case-insensitive. */
        search?: string
        /** Part of the address or of the name, case-insensitive. `nameFields` of the project hold the name. */
        q?: string
        subscribed?: boolean
        segmentId?: string
        condition?: ConditionInput
        /** Name of a field, such as `plan` or `data.plan`; requires `value`. */
        field?: string
        value?: string | number | boolean
        /** A time, or a date, which means the whole day in UTC. */
        createdFrom?: string
        /** A time, or a date, which means the whole day in UTC. */
        createdTo?: string
      }
      excludeIds?: string[]
      /** Act on every contact when the filter is empty. */
      all?: boolean
    }
    response: {
      message: string
      jobId: string
    }
  }

  /** Get the status of a bulk job */
  'GET /contacts/bulk/{jobId}': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Job
  }

  /**
   * Export contacts as CSV
   *
   * Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept.
   */
  'POST /contacts/export': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      /** Without it, every contact is exported. */
      filter?: {
        /** Part of the address, case-insensitive. */
        search?: string
        /** Part of the address or of the name, case-insensitive. `nameFields` of the project hold the name. */
        q?: string
        subscribed?: boolean
        segmentId?: string
        condition?: ConditionInput
        /** Name of a field, such as `plan` or `data.plan`; requires `value`. */
        field?: string
        value?: string | number | boolean
        /** A time, or a date, which means the whole day in UTC. */
        createdFrom?: string
        /** A time, or a date, which means the whole day in UTC. */
        createdTo?: string
      }
    } | undefined
    response: {
      message: string
      jobId: string
    }
  }

  /** Get the status of an export */
  'GET /contacts/export/{jobId}': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Job
  }

  /** Download the file of an export */
  'GET /contacts/export/{jobId}/file': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /** List fields */
  'GET /contacts/fields': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      fields: {
        field: string
        type: 'number' | 'boolean' | 'date' | 'string'
        isCustom: boolean
        /** Share of contacts that have the field, 0 to 1. */
        coverage: number
      }[]
      count: number
    }
  }

  /** Delete a field from all contacts */
  'DELETE /contacts/fields/{field}': {
    params: {
      field: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      deletedFrom: number
    }
  }

  /** Get the usage of a contact field */
  'GET /contacts/fields/{field}/usage': {
    params: {
      field: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      usedInSegments: {
        id: string
        name: string
      }[]
      usedInCampaigns: {
        id: string
        name: string
      }[]
      usedInWorkflows: {
        id: string
        name: string
      }[]
      contactCount: number
      canDelete: boolean
    }
  }

  /**
   * Sample the distinct values of a field
   *
   * Reads up to 100,000 contacts, the newest first, until 10,000 of them have no further value. Values have up to 1,024 characters.
   */
  'GET /contacts/fields/{field}/values': {
    params: {
      field: string
    }
    query: {
      /** 1 to 200, default 100. A larger number counts as the maximum, any other value as the default. */
      limit?: number
    }
    headers: undefined
    body: undefined
    response: {
      field: string
      values: unknown[]
      count: number
      limit: number
      /** Always true: a large project may have values that are not listed. */
      sampled: true
    }
  }

  /** Import contacts from CSV */
  'POST /contacts/import': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      file: Blob
      /** JSON: the name of a column and its target, which is `email`, `subscribed`, a field such as `plan` or `data.plan`, or null to skip the column. A column that is not named is read as without a mapping. */
      mapping?: string
      /** A static segment, to which all imported contacts are added. */
      segmentId?: string
      /** `true`: checks the file, writes nothing, and answers 200 with the result. */
      dryRun?: string
      /** For a file that is sent in parts: the number of rows in the earlier parts. Rows are then numbered by their position in the whole file. */
      rowsBefore?: string
    }
    response: ImportCheck | {
      message: string
      jobId: string
    }
  }

  /** Get the status of an import */
  'GET /contacts/import/{jobId}': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Job
  }

  /** Download all failed rows of an import as CSV */
  'GET /contacts/import/{jobId}/errors': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /** Look up contacts by email address */
  'POST /contacts/lookup': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      emails: string[]
    }
    response: {
      found: string[]
      notFound: string[]
    }
  }

  /** Get a contact */
  'GET /contacts/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Contact
  }

  /** Update a contact */
  'PATCH /contacts/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      email?: string
      subscribed?: boolean
      data?: Record<string, unknown> | null
    }
    response: Contact
  }

  /** Delete a contact */
  'DELETE /contacts/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * List subscription changes of a contact
   *
   * Newest first, each with its source.
   */
  'GET /contacts/{id}/consent': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: Consent[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * List the segments of a contact
   *
   * Segments that the contact is in now, newest segment first.
   */
  'GET /contacts/{id}/segments': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      id: string
      name: string
      slug: string
      type: 'DYNAMIC' | 'STATIC'
      trackMembership: boolean
    }[]
  }

  /**
   * Render a design
   *
   * Returns the HTML and the text of a design, with its template expressions, and what an author should look at. Stores nothing.
   */
  'POST /designs/render': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      design: DesignInput
      /** Overrides the brand of the project. */
      brand?: BrandInput | null
    }
    response: {
      html: string
      text: string
      /** Size of `html` in UTF-8. */
      bytes: number
      issues: {
        /** The block it concerns. Null: the design as a whole. */
        blockId: string | null
        message: string
      }[]
    }
  }

  /**
   * List designs to start from
   *
   * Complete emails in the look of the project, to copy and change.
   */
  'GET /designs/starters': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      key: string
      name: string
      category: 'account' | 'commerce' | 'news'
      design: Design
      html: string
    }[]
  }

  /**
   * Check this installation
   *
   * Configuration, database, disk, sending and billing, and what to do about problems. Only for operators.
   */
  'GET /doctor': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: Doctor
  }

  /**
   * Add a domain
   *
   * Returns the DNS records to publish.
   */
  'POST /domains': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      domain: string
      projectId?: string
    }
    response: Domain
  }

  /**
   * List domains
   *
   * `current` stands for the project of the key, or of `X-Project-Id`.
   */
  'GET /domains/project/{projectId}': {
    params: {
      projectId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Domain[]
  }

  /**
   * Set the link host of a domain
   *
   * Only for a verified domain. Adds a CNAME to `records`. Once it is found and leads here, links, images and pages of emails from this domain use the host. At most ten changes a day.
   */
  'PATCH /domains/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** A host below the domain, such as `links.example.com`, for the links of its emails. Null removes it. */
      linkHost?: string | null
    }
    response: Domain
  }

  /** Delete a domain */
  'DELETE /domains/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Verify a domain
   *
   * Looks up the DNS records now. If a check of the domain is already running, returns its result.
   */
  'GET /domains/{id}/verify': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: DomainCheck
  }

  /**
   * List emails, newest first
   *
   * A search that takes longer than 3 s is a 503: narrow it by time, status or recipient.
   */
  'GET /emails': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      contactId?: string
      campaignId?: string
      templateId?: string
      sourceType?: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      /** Domain of the recipient, without its subdomains. */
      domain?: string
      /** A time, or a date, which means the whole day in UTC. */
      createdFrom?: string
      /** A time, or a date, which means the whole day in UTC. */
      createdTo?: string
      /** Emails to which this happened; opens and clicks by people. As in the figures of analytics, without test emails and received ones. */
      fact?: 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'unsubscribed'
      /** The fact happened at this time or later. Counts only with `fact`. */
      factFrom?: string
      /** The fact happened at this time or earlier. Counts only with `fact`. */
      factTo?: string
      /** Emails of one message of SMTP submission, by the batch of its reply. */
      batch?: string
      /** Emails that wait for the time that their request gave. */
      scheduled?: 'true'
      /** An address or part of it, part of the subject, the id of an email, a Message-ID, or the `X-Request-ID` of the call that sent it. */
      search?: string
      /** One or several, also separated by commas. */
      status?: (
        | 'PENDING'
        | 'SENDING'
        | 'SENT'
        | 'DELIVERED'
        | 'OPENED'
        | 'CLICKED'
        | 'BOUNCED'
        | 'COMPLAINED'
        | 'FAILED'
        | 'SKIPPED')[]
      /** The same as `search`, which counts if both are given. */
      q?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: Email[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Send one email
   *
   * For people and their tools: accepts a session, and the body of `/v1/send` with one recipient. Follows the same rules, limits and usage, and is in the audit trail. Takes no `Idempotency-Key`: apps that retry use `/v1/send`.
   */
  'POST /emails': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      to: string | {
        name?: string
        email: string
      } | (string | {
        name?: string
        email: string
      })[]
      subject?: string
      body?: string
      template?: string
      from?: string | {
        name?: string
        email: string
      }
      /** Deprecated: use `from.name`. Applies only if `from` is a string without a name. */
      name?: string
      subscribed?: boolean
      data?: Record<string, unknown> | null
      headers?: Record<string, string>
      reply?: string
      attachments?: {
        filename: string
        /** Base64; line breaks and missing padding are accepted. */
        content: string
        /** A MIME type, optionally with parameters: `text/csv; charset=utf-8`. */
        contentType: string
        contentId?: string
        disposition?: 'attachment' | 'inline'
      }[]
      sendAt?: string | null
    }
    response: Email
  }

  /**
   * Export emails as CSV
   *
   * Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept.
   */
  'POST /emails/export': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      /** As in the list. Without it, every email is exported. */
      filter?: {
        contactId?: string
        campaignId?: string
        templateId?: string
        sourceType?: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
        /** Domain of the recipient, without its subdomains. */
        domain?: string
        /** A time, or a date, which means the whole day in UTC. */
        createdFrom?: string
        /** A time, or a date, which means the whole day in UTC. */
        createdTo?: string
        /** Emails to which this happened; opens and clicks by people. As in the figures of analytics, without test emails and received ones. */
        fact?: 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'unsubscribed'
        /** The fact happened at this time or later. Counts only with `fact`. */
        factFrom?: string
        /** The fact happened at this time or earlier. Counts only with `fact`. */
        factTo?: string
        /** Emails of one message of SMTP submission, by the batch of its reply. */
        batch?: string
        /** Emails that wait for the time that their request gave. */
        scheduled?: 'true'
        /** An address or part of it, part of the subject, the id of an email, a Message-ID, or the `X-Request-ID` of the call that sent it. */
        search?: string
        status?: (
          | 'PENDING'
          | 'SENDING'
          | 'SENT'
          | 'DELIVERED'
          | 'OPENED'
          | 'CLICKED'
          | 'BOUNCED'
          | 'COMPLAINED'
          | 'FAILED'
          | 'SKIPPED')[]
      }
    } | undefined
    response: {
      message: string
      jobId: string
    }
  }

  /** Get the status of an export of emails */
  'GET /emails/export/{jobId}': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Job
  }

  /** Download the file of an export of emails */
  'GET /emails/export/{jobId}/file': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /** Get an email with its timeline */
  'GET /emails/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      id: string
      projectId: string
      contactId: string | null
      messageId: string
      /** As rendered. Before that, as written, with its variables. */
      subject: string
      from: string
      fromName: string | null
      /** The address that was used. Before that, the one that is known: an email to a contact goes to the address that the contact has when it leaves. */
      to: string
      toName: string | null
      replyTo: string | null
      sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW' | 'INBOUND'
      type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
      templateId: string | null
      /** The version of the template when the email was accepted. */
      templateVersion: number | null
      campaignId: string | null
      workflowExecutionId: string | null
      status:
        | 'PENDING'
        | 'SENDING'
        | 'SENT'
        | 'DELIVERED'
        | 'OPENED'
        | 'CLICKED'
        | 'BOUNCED'
        | 'COMPLAINED'
        | 'FAILED'
        | 'SKIPPED'
      /** When it is to be sent, if its request gave a time. */
      sendAt: string | null
      sentAt: string | null
      deliveredAt: string | null
      openedAt: string | null
      clickedAt: string | null
      bouncedAt: string | null
      complainedAt: string | null
      /** Since when the email is handed over without a reply. Null when the outcome is known. */
      outcomeUnknownSince: string | null
      opens: number
      clicks: number
      error: string | null
      /** The class of `error`. docs/sending.md lists the classes for which a resend may help. */
      errorCode:
        | 'unsubscribed'
        | 'suppressed'
        | 'contact_deleted'
        | 'invalid'
        | 'project_deleted'
        | 'cancelled'
        | 'bounced'
        | 'rejected'
        | 'domain_not_verified'
        | 'rendering'
        | 'too_large'
        | 'transient'
        | 'expired'
        | 'outcome_unknown'
        | 'crashed'
        | 'provider_paused'
        | 'domain_paused'
        | 'throttled'
        | 'project_disabled'
        | 'verifying_refusal' | null
      attempts: number
      /** A test email: not tracked, without events, and in no counts. */
      test: boolean
      /** The failed email of which this one is a resend. */
      resentFrom: string | null
      /** `X-Request-ID` of the call that sent it. */
      requestId: string | null
      createdAt: string
      updatedAt: string
      timeline: {
        at: string
        what: string
        details: Record<string, unknown>
      }[]
    }
  }

  /**
   * Move a scheduled email
   *
   * Refused with 409 once a worker has taken it.
   */
  'PATCH /emails/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** At most 30 days ahead. Null: now. */
      sendAt: string | null
    }
    response: Email
  }

  /**
   * Cancel a scheduled email
   *
   * Refused with 409 once a worker has taken it. Its usage is returned. A second time responds the same.
   */
  'POST /emails/{id}/cancel': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Email
  }

  /**
   * Preview an email
   *
   * Renders the email again, from its content and the current data of the contact. Rendered emails are not stored. To a key without the scope `send`, values of the request that the contact does not have read `•••`.
   */
  'GET /emails/{id}/preview': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      subject: string
      html: string
      text: string
      /** Path of a page to show in an `<iframe>`. Needs no credentials, and expires after 15 minutes. `?images=off` blocks remote images. */
      frameUrl: string
      /** The headers that can be rebuilt: without signatures and what servers on the way added. None of a received email. */
      headers: {
        name: string
        value: string
      }[]
      /** The values of the request are no longer stored: the preview has only those of the contact. */
      requestDataCleared: boolean
      /** Variables that have no value any more, probably because the request had it. Shown as ▢. */
      clearedVariables: string[]
    }
  }

  /**
   * Resend a failed transactional email
   *
   * Creates a new email with `resentFrom`. Possible for 7 days after the failure, while the data of the request is kept.
   */
  'POST /emails/{id}/resend': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Email
  }

  /** List events, newest first */
  'GET /events': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      eventName?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: {
        id: string
        name: string
        data: Record<string, unknown>
        contactId: string | null
        emailId: string | null
        projectId: string
        createdAt: string
        contact: {
          id: string
          email: string
        } | null
      }[]
      /** The same as `data`. */
      events: {
        id: string
        name: string
        data: Record<string, unknown>
        contactId: string | null
        emailId: string | null
        projectId: string
        createdAt: string
        contact: {
          id: string
          email: string
        } | null
      }[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /** List events of a contact, newest first */
  'GET /events/contact/{contactId}': {
    params: {
      contactId: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: {
        id: string
        name: string
        data: Record<string, unknown>
        contactId: string | null
        emailId: string | null
        projectId: string
        createdAt: string
        contact: {
          id: string
          email: string
        } | null
      }[]
      /** The same as `data`. */
      events: {
        id: string
        name: string
        data: Record<string, unknown>
        contactId: string | null
        emailId: string | null
        projectId: string
        createdAt: string
        contact: {
          id: string
          email: string
        } | null
      }[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /** List event names, most frequent first */
  'GET /events/names': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      eventNames: string[]
      /** True if there are more than 10,000 names. */
      truncated: boolean
    }
  }

  /** List event names with their figures, most frequent first */
  'GET /events/names/details': {
    params: undefined
    query: {
      /** 1 to 1,000,000,000, default 1. A larger number counts as the maximum, any other value as the default. */
      page?: number
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      pageSize?: number
    }
    headers: undefined
    body: undefined
    response: {
      data: EventNameDetails[]
      total: number
      page: number
      pageSize: number
      totalPages: number
    }
  }

  /**
   * Count events by name
   *
   * Counts whole UTC days, including those of `startDate` and `endDate`.
   */
  'GET /events/stats': {
    params: undefined
    query: {
      startDate?: string
      endDate?: string
    }
    headers: undefined
    body: undefined
    response: {
      name: string
      count: number
    }[]
  }

  /**
   * Track an event from a server or the dashboard
   *
   * Accepts the body of `/v1/track`, or `{ name, contactId?, emailId?, data? }` to record an event without changing a contact.
   */
  'POST /events/track': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      name?: string
      contactId?: string
      emailId?: string
      data?: Record<string, unknown> | null
      email?: string
      event?: string
      subscribed?: boolean
    }
    response: {
      success: true
      data: {
        contact: string
        event: string
        timestamp: string
      }
    } | Event
  }

  /**
   * Delete all events with a name
   *
   * Responds when all are deleted, or after 12 seconds with the number so far; a job deletes the rest.
   */
  'DELETE /events/{eventName}': {
    params: {
      eventName: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      deletedCount: number
    }
  }

  /** Get the usage of an event name */
  'GET /events/{eventName}/usage': {
    params: {
      eventName: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      usedInSegments: {
        id: string
        name: string
      }[]
      usedInCampaigns: {
        id: string
        name: string
      }[]
      usedInWorkflows: {
        id: string
        name: string
      }[]
      totalCount: number
      uniqueContacts: number
      canDelete: boolean
    }
  }

  /** Check that the process is alive */
  'GET /health': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      status: 'ok'
      role: string
      uptime: number
    }
  }

  /**
   * List jobs, newest first
   *
   * Jobs are listed for 30 days.
   */
  'GET /jobs': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      /** Only jobs that have not finished. */
      active?: '1' | 'true'
    }
    headers: undefined
    body: undefined
    response: {
      data: Job[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /** Get a job */
  'GET /jobs/{jobId}': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Job
  }

  /**
   * Ask whether a host may get a certificate
   *
   * For web servers that get certificates on demand: 200 for the link host of a verified domain whose CNAME points here, 404 for any other name.
   */
  'GET /link-hosts/allowed': {
    params: undefined
    query: {
      domain?: string
    }
    headers: undefined
    body: undefined
    response: {
      domain: string
    }
  }

  /**
   * List who changed what, newest first
   *
   * Every change but tracked events, sent emails, and contacts and members of segments that were changed by an API key. Kept for 400 days. With `format=csv` the answer is a CSV file of all entries.
   */
  'GET /projects/{id}/audit': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      /** Id of a user or an API key, or `system`. */
      actor?: string
      /** `template.update`, or `template` for everything done to templates. */
      action?: string
      /** `csv`: all entries that match, as a file. */
      format?: 'json' | 'csv'
    }
    headers: undefined
    body: undefined
    response: {
      data: AuditEntry[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Apply the brand to saved designs
   *
   * Starts a job that renders the designs of templates and draft campaigns again, in the brand as it is now. A template gets a new version; campaigns that are scheduled or were sent never change. With `dryRun` the job changes nothing, and its result (`templates`, `campaigns`, `changedTemplates`, `changedCampaigns`) says what it would change.
   */
  'POST /projects/{id}/brand/apply': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      dryRun?: boolean
    } | undefined
    response: {
      message: string
      jobId: string
    }
  }

  /** List pending invitations */
  'GET /projects/{id}/invitations': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Invitation[]
  }

  /** Revoke an invitation */
  'DELETE /projects/{id}/invitations/{invitationId}': {
    params: {
      id: string
      invitationId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Create a link to an invitation
   *
   * To pass on by other means than the email. It works once, for the invited address, until the invitation expires, and replaces the link created before. It does not verify the address.
   */
  'POST /projects/{id}/invitations/{invitationId}/link': {
    params: {
      id: string
      invitationId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      url: string
    }
  }

  /** Get when the API keys were last used */
  'GET /projects/{id}/key-usage': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      public: {
        /** To the minute. Null: not since it was generated. */
        lastUsedAt: string | null
      }
      secret: {
        /** To the minute. Null: not since it was generated. */
        lastUsedAt: string | null
      }
    }
  }

  /**
   * List API keys
   *
   * The pair of the project, then the others, newest first.
   */
  'GET /projects/{id}/keys': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: ApiKey[]
  }

  /**
   * Create an API key
   *
   * The key itself is only in this answer. At most 50 of a project.
   */
  'POST /projects/{id}/keys': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      kind: 'secret' | 'public'
      name: string
      /** Only for a secret key; `full` by default. */
      scopes?: ('full' | 'send' | 'events' | 'contacts' | 'templates' | 'campaigns' | 'workflows' | 'read')[] | null
      /** Only for a secret key: the domains it may send from. */
      senderDomains?: string[] | null
      /** IP addresses and CIDRs that the key works from. */
      networks?: string[] | null
      /** In the future. Null: never. */
      expiresAt?: string | null
    }
    response: ApiKeyWithSecret
  }

  /**
   * Update an API key
   *
   * Holds for the next request, on every node.
   */
  'PATCH /projects/{id}/keys/{keyId}': {
    params: {
      id: string
      keyId: string
    }
    query: undefined
    headers: undefined
    body: {
      name?: string
      /** Only for a secret key; `full` by default. */
      scopes?: ('full' | 'send' | 'events' | 'contacts' | 'templates' | 'campaigns' | 'workflows' | 'read')[] | null
      /** Only for a secret key: the domains it may send from. */
      senderDomains?: string[] | null
      /** IP addresses and CIDRs that the key works from. */
      networks?: string[] | null
      /** In the future. Null: never. */
      expiresAt?: string | null
    }
    response: ApiKey
  }

  /**
   * Revoke an API key
   *
   * When this responds, the key no longer works on any node.
   */
  'DELETE /projects/{id}/keys/{keyId}': {
    params: {
      id: string
      keyId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Rotate an API key
   *
   * Keeps its id and its settings. The key before works for `graceHours` more, earlier ones stop at once.
   */
  'POST /projects/{id}/keys/{keyId}/rotate': {
    params: {
      id: string
      keyId: string
    }
    query: undefined
    headers: undefined
    body: {
      /** The key before works this much longer. 0 by default. */
      graceHours?: number
    } | undefined
    response: ApiKeyWithSecret
  }

  /** List members */
  'GET /projects/{id}/members': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Member[]
  }

  /** Invite a member */
  'POST /projects/{id}/members': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      email: string
      role: 'ADMIN' | 'MEMBER'
    }
    response: {
      userId: string | null
      email: string
      role: 'OWNER' | 'ADMIN' | 'MEMBER'
      /** INVITED: the address has no verified account yet; an invitation was sent to it. */
      status: 'MEMBER' | 'INVITED'
      createdAt: string
    }
  }

  /** Change the role of a member */
  'PATCH /projects/{id}/members/{userId}': {
    params: {
      id: string
      userId: string
    }
    query: undefined
    headers: undefined
    body: {
      role: 'ADMIN' | 'MEMBER'
    }
    response: Member
  }

  /** Remove a member or leave the project */
  'DELETE /projects/{id}/members/{userId}': {
    params: {
      id: string
      userId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Get the reputation of a project
   *
   * Bounce and complaint rates, their levels, and when the project was disabled because of them.
   */
  'GET /projects/{id}/security': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Security
  }

  /**
   * Acknowledge bounces and complaints
   *
   * Rates count from now on, and a project that was disabled because of them is enabled. An owner may do this once in 30 days, an operator at any time.
   */
  'POST /projects/{id}/security/acknowledge': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Security
  }

  /** Get the setup state of a project */
  'GET /projects/{id}/setup-state': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      hasVerifiedDomain: boolean
      contactCount: number
      lastCampaignSentAt: string | null
      hasEnabledWorkflow: boolean
      hasSubscription: boolean
      hasSentEmail: boolean
      /** A key of the project was used. */
      hasUsedApi: boolean
      hasTrackedEvent: boolean
      hasTemplate: boolean
      hasSegment: boolean
    }
  }

  /** Get the secret that signs webhooks */
  'GET /projects/{id}/webhook-secret': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      /** Signs webhooks by Standard Webhooks (HMAC-SHA256). */
      secret: string
      /** After a rotation, requests are also signed with the secret before, until this time. */
      previousUntil: string | null
    }
  }

  /**
   * Rotate the secret that signs webhooks
   *
   * For a day requests are signed with both secrets.
   */
  'POST /projects/{id}/webhook-secret': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      /** Signs webhooks by Standard Webhooks (HMAC-SHA256). */
      secret: string
      /** After a rotation, requests are also signed with the secret before, until this time. */
      previousUntil: string | null
    }
  }

  /** Check that the node is ready for traffic */
  'GET /ready': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      status: 'ok'
      checks: {
        accepting: boolean
        /** False with status 200: away for less than 30 seconds; requests are answered with 503. */
        database: boolean
        migrations: boolean
        disk: boolean
      }
      /** Requests are accepted, and nothing is sent (`full`), or nothing from before a failover (`partial`): see `sterna sending resume`. */
      sendingHeld: 'full' | 'partial' | null
    }
  }

  /** List sandbox messages, newest first */
  'GET /sandbox/messages': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      /** Part of the recipient or the subject. */
      q?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: {
        id: string
        emailId: string
        to: string
        from: string
        subject: string
        createdAt: string
      }[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /** Get a sandbox message with its source */
  'GET /sandbox/messages/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      id: string
      emailId: string
      to: string
      from: string
      subject: string
      createdAt: string
      /** The message as it would have been sent. */
      source: string
    }
  }

  /**
   * Get the parts of a sandbox message
   *
   * The HTML is that of the message, without its open pixel and with the original links.
   */
  'GET /sandbox/messages/{id}/preview': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      html: string
      text: string
      /** Path of a page to show in an `<iframe>`. Needs no credentials, and expires after 15 minutes. `?images=off` blocks remote images. */
      frameUrl: string
      headers: {
        name: string
        value: string
      }[]
      attachments: {
        filename: string
        contentType: string
        bytes: number
        inline: boolean
      }[]
    }
  }

  /**
   * List segments
   *
   * All of them, newest first.
   */
  'GET /segments': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: Segment[]
  }

  /**
   * Create a segment
   *
   * A dynamic segment has the contacts that match its condition; a static one those that were added to it.
   */
  'POST /segments': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      name: string
      description?: string | null
      /** `DYNAMIC` by default. */
      type?: 'DYNAMIC' | 'STATIC'
      condition?: ConditionInput
      trackMembership?: boolean
    }
    response: Segment
  }

  /**
   * Explain whether a contact matches a condition
   *
   * Evaluates each filter of the condition for one contact, with the actual values. Stores nothing.
   */
  'POST /segments/explain': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      condition: ConditionInput
      contactId: string
    }
    response: {
      matches: boolean
      explanation: ConditionExplanation
    }
  }

  /**
   * Preview a condition
   *
   * Counts the contacts that match a condition, and those that remain after each filter. Stores nothing.
   */
  'POST /segments/preview': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      condition: ConditionInput
    }
    response: {
      /** Contacts that match. */
      count: number
      /** True if the numbers come from a sample of 10,000 contacts. */
      estimated: boolean
      /** Matching contacts that are subscribed and not suppressed. */
      mailable: number
      perFilter: {
        /** Place of the filter in the condition, such as `groups.0.filters.1`. */
        path: string
        field: string
        operator:
          | 'equals'
          | 'notEquals'
          | 'contains'
          | 'notContains'
          | 'greaterThan'
          | 'lessThan'
          | 'greaterThanOrEqual'
          | 'lessThanOrEqual'
          | 'exists'
          | 'notExists'
          | 'within'
          | 'olderThan'
          | 'triggered'
          | 'notTriggered'
          | 'triggeredWithin'
          | 'triggeredOlderThan'
          | 'notTriggeredWithin'
          | 'memberOfSegment'
          | 'notMemberOfSegment'
        /** Contacts that match the filters of its group up to and including this one. */
        remaining: number
      }[]
      /** Up to five matching contacts, newest first. */
      sample: Contact[]
    }
  }

  /**
   * Count the uses of all segments
   *
   * For lists: in how many segments, campaigns and workflows each is used, and its entries and exits of the last seven days.
   */
  'GET /segments/usage': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      data: SegmentUses[]
    }
  }

  /** Get a segment */
  'GET /segments/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Segment
  }

  /** Update a segment */
  'PATCH /segments/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: {
      /** The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision. */
      'If-Match'?: string
    }
    body: {
      name?: string
      description?: string | null
      condition?: ConditionInput
      trackMembership?: boolean
    }
    response: Segment
  }

  /**
   * Delete a segment
   *
   * Refused while it is in use; `details.usedBy` names the users.
   */
  'DELETE /segments/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Recompute the members of a tracked segment
   *
   * Records an entry or exit event for each difference. Waits up to 20 seconds; a longer computation is answered with 202 and goes on. Two requests at the same time share one computation.
   */
  'POST /segments/{id}/compute': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      added: number
      removed: number
      total: number
    } | {
      message: string
      jobId: string
    }
  }

  /**
   * List the members of a segment
   *
   * Newest contacts first. A dynamic segment is evaluated now. Take `page`, or continue with the `cursor` of a page.
   */
  'GET /segments/{id}/contacts': {
    params: {
      id: string
    }
    query: {
      /** 1 to 1,000,000,000, default 1. A larger number counts as the maximum, any other value as the default. */
      page?: number
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      pageSize?: number
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: Contact[]
      /** The same as `data`. */
      contacts: Contact[]
      total: number
      /** Null with a `cursor`. */
      page: number | null
      pageSize: number
      totalPages: number
      /** Continues after this page without counting from the start. Null on the last page. */
      cursor: string | null
      hasMore: boolean
    }
  }

  /**
   * Duplicate a segment
   *
   * A static segment is copied with its members. The copy is not tracked.
   */
  'POST /segments/{id}/duplicate': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Segment
  }

  /** Explain why a contact is in a segment, or not */
  'GET /segments/{id}/explain/{contactId}': {
    params: {
      id: string
      contactId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      /** Whether the contact is in the segment now. */
      matches: boolean
      segment: {
        id: string
        name: string
        slug: string
        type: 'DYNAMIC' | 'STATIC'
        trackMembership: boolean
      }
      /** The evaluated condition with the actual values. Null for a static segment. */
      explanation: ConditionExplanation | null
      /** Whether the contact is a stored member: of a static or tracked segment. Null for a dynamic segment that is not tracked. */
      isMember: boolean | null
      /** Entries and exits while the segment was tracked, newest first, at most 100. */
      history: {
        type: 'entry' | 'exit'
        at: string
        eventId: string
      }[]
    }
  }

  /**
   * List entries and exits of a segment
   *
   * Newest first. They are recorded while the segment is tracked.
   */
  'GET /segments/{id}/history': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      type?: 'entry' | 'exit'
      /** The first day, in UTC. */
      from?: string
      /** The last day, in UTC. */
      to?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: SegmentChange[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /** Add contacts to a static segment */
  'POST /segments/{id}/members': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      emails: string[]
      /** Create contacts for unknown addresses. */
      createMissing?: boolean
      /** Subscription of the contacts that are created, true by default. Other contacts keep theirs. */
      subscribed?: boolean
    }
    response: {
      /** Contacts that were not members before. */
      added: number
      /** Contacts that were created. */
      created: number
      /** Addresses without a contact, and texts that are not an address, as given. */
      notFound: string[]
    }
  }

  /**
   * Remove contacts from a static segment
   *
   * Unknown addresses are ignored.
   */
  'DELETE /segments/{id}/members': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      emails: string[]
    }
    response: {
      removed: number
    }
  }

  /**
   * Count the members of a segment
   *
   * Refreshes `memberCount`. Changes no membership and records no event.
   */
  'POST /segments/{id}/refresh': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      memberCount: number
    }
  }

  /** Get the usage of a segment */
  'GET /segments/{id}/usage': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      usedInSegments: {
        id: string
        name: string
      }[]
      usedInCampaigns: {
        id: string
        name: string
      }[]
      usedInWorkflows: {
        id: string
        name: string
      }[]
    }
  }

  /** List suppressions, newest first */
  'GET /suppressions': {
    params: undefined
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      reason?: 'BOUNCE' | 'COMPLAINT' | 'MANUAL'
      /** Part of the address or domain. */
      q?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: Suppression[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Suppress an address or domain
   *
   * 201 when it is new. 200 when it was suppressed before; it keeps its reason.
   */
  'POST /suppressions': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      address?: string
      domain?: string
    }
    response: Suppression
  }

  /**
   * Suppress many addresses and domains
   *
   * Entries that are neither an address nor a domain are returned; the others are suppressed.
   */
  'POST /suppressions/bulk': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      entries: string[]
    }
    response: {
      addedCount: number
      existingCount: number
      invalid: string[]
    }
  }

  /**
   * Check whether an address would be sent to
   *
   * Names the rules that keep an email to this address from being sent. Changes nothing.
   */
  'POST /suppressions/check': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      email: string
    }
    response: {
      email: string
      wouldSend: {
        transactional: boolean
        marketing: boolean
      }
      /** The rules that keep an email from being sent. */
      rules: {
        rule: 'project_disabled' | 'address_suppressed' | 'domain_suppressed' | 'unsubscribed' | 'no_contact'
        blocks: 'all' | 'marketing'
        message: string
        suppression: Suppression | null
      }[]
    }
  }

  /**
   * Download all suppressions as CSV
   *
   * At once, without a job.
   */
  'GET /suppressions/export': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /**
   * Export suppressions as CSV
   *
   * Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept.
   */
  'POST /suppressions/export': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      /** As in the list. Without it, every suppression is exported. */
      filter?: {
        reason?: 'BOUNCE' | 'COMPLAINT' | 'MANUAL'
        q?: string
      }
    } | undefined
    response: {
      message: string
      jobId: string
    }
  }

  /** Get the status of an export of suppressions */
  'GET /suppressions/export/{jobId}': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Job
  }

  /** Download the file of an export of suppressions */
  'GET /suppressions/export/{jobId}/file': {
    params: {
      jobId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /**
   * Remove a suppression
   *
   * By address or domain. A contact that the suppression unsubscribed stays unsubscribed.
   */
  'DELETE /suppressions/{address}': {
    params: {
      address: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Lift a suspension
   *
   * By the id of the suspended project, also if it was deleted: the project is enabled, its domains can be added again, and further projects of its owner that were disabled because of it are enabled. Only for operators.
   */
  'POST /suspensions/{id}/lift': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      success: true
    }
  }

  /** List templates */
  'GET /templates': {
    params: undefined
    query: {
      /** 1 to 1,000,000,000, default 1. A larger number counts as the maximum, any other value as the default. */
      page?: number
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      pageSize?: number
      type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
      /** Case-insensitive search in name, description and subject. */
      search?: string
      /** Templates that were written in this workflow; `none`: in no workflow. */
      workflowId?: string | 'none'
      /** `name` or `createdAt` or `updatedAt`. Any other value counts as `createdAt`, the default. */
      sort?: string
      /** `asc` or `desc`. Any other value counts as `desc`, the default. */
      dir?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: TemplateListItem[]
      total: number
      page: number
      pageSize: number
      totalPages: number
    }
  }

  /** Create a template */
  'POST /templates': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      name: string
      subject: string
      /** HTML. Ignored when a design is given, else required to create something. */
      body?: string
      /** Blocks instead of HTML. Null drops a design and keeps the HTML. */
      design?: DesignInput | null
      type: 'TRANSACTIONAL' | 'MARKETING'
      description?: string | null
      previewText?: string | null
      /** Must be on a verified domain. */
      from?: string | null
      fromName?: string | null
      replyTo?: string | null
      /** The workflow that it is written in. It is deleted with it, unless something else uses it. */
      workflowId?: string | null
    }
    response: Template
  }

  /** Lint a subject and body */
  'POST /templates/lint': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      subject: string
      previewText?: string | null
      body?: string
      /** Instead of `body`. */
      design?: DesignInput | null
      type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
    }
    response: {
      issues: {
        code:
          | 'syntax_error'
          | 'missing_variable'
          | 'ambiguous_name'
          | 'empty_link'
          | 'broken_link'
          | 'insecure_link'
          | 'image_without_alt'
          | 'no_picture'
          | 'too_large'
          | 'no_unsubscribe_link'
        severity: 'error' | 'warning' | 'info'
        message: string
        /** Line of the body. */
        line?: number
        /** Block of the design. */
        blockId?: string
      }[]
    }
  }

  /**
   * Preview unsaved content
   *
   * Renders a subject and a body or design for a contact or a sample. Returns the email as it would be sent, with footer and unsubscribe links, but without open and click tracking. Sends nothing and changes nothing. `data`, `email`, `locale` and `subscribed` override the values of the contact.
   */
  'POST /templates/preview': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      subject: string
      previewText?: string | null
      /** HTML. Ignored when a design is given, else required to create something. */
      body?: string
      /** Blocks instead of HTML. Null drops a design and keeps the HTML. */
      design?: DesignInput | null
      type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
      from?: string | null
      fromName?: string | null
      contactId?: string
      email?: string
      subscribed?: boolean
      locale?: string
      /** Custom fields. A key set to null is deleted, "" is ignored, { value, persistent: false } is not stored. */
      data?: Record<string, unknown>
      /** Also return `frameUrl`, where a frame can show the HTML for 15 minutes. */
      frame?: boolean
    }
    response: {
      subject: string
      html: string
      text: string
      /** Path of a page to show in an `<iframe>`. Needs no credentials, and expires after 15 minutes. `?images=off` blocks remote images. */
      frameUrl?: string
      /** Variables without a value and without a fallback. */
      missingVariables: string[]
    }
  }

  /**
   * Count the uses of several templates
   *
   * For lists. Ids that the project does not have are left out.
   */
  'GET /templates/usage': {
    params: undefined
    query: {
      /** Ids of templates, separated by commas; at most 100. */
      ids?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: {
        id: string
        campaignCount: number
        workflowCount: number
        /** Exact up to 10,000, and stops there. */
        emailsSent: number
      }[]
    }
  }

  /** Get a template */
  'GET /templates/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Template
  }

  /** Update a template */
  'PATCH /templates/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: {
      /** The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision. */
      'If-Match'?: string
    }
    body: {
      name?: string
      subject?: string
      /** HTML. Ignored when a design is given, else required to create something. */
      body?: string
      /** Blocks instead of HTML. Null drops a design and keeps the HTML. */
      design?: DesignInput | null
      type?: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
      description?: string | null
      previewText?: string | null
      /** Must be on a verified domain. */
      from?: string | null
      fromName?: string | null
      replyTo?: string | null
      /** The workflow that it is written in. It is deleted with it, unless something else uses it. */
      workflowId?: string | null
    }
    response: Template
  }

  /**
   * Delete a template
   *
   * Refused while a scheduled or running campaign uses it; `details.usedBy` names the campaigns.
   */
  'DELETE /templates/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /** Duplicate a template */
  'POST /templates/{id}/duplicate': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Template
  }

  /** Lint a template */
  'POST /templates/{id}/lint': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      issues: {
        code:
          | 'syntax_error'
          | 'missing_variable'
          | 'ambiguous_name'
          | 'empty_link'
          | 'broken_link'
          | 'insecure_link'
          | 'image_without_alt'
          | 'no_picture'
          | 'too_large'
          | 'no_unsubscribe_link'
        severity: 'error' | 'warning' | 'info'
        message: string
        /** Line of the body. */
        line?: number
        /** Block of the design. */
        blockId?: string
      }[]
    }
  }

  /**
   * Preview a template
   *
   * Renders the template for a contact or a sample. Returns the email as it would be sent, with footer and unsubscribe links, but without open and click tracking. Sends nothing and changes nothing. `data`, `email`, `locale` and `subscribed` override the values of the contact.
   */
  'POST /templates/{id}/preview': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      contactId?: string
      email?: string
      subscribed?: boolean
      locale?: string
      /** Custom fields. A key set to null is deleted, "" is ignored, { value, persistent: false } is not stored. */
      data?: Record<string, unknown>
      /** Also return `frameUrl`, where a frame can show the HTML for 15 minutes. */
      frame?: boolean
    } | undefined
    response: {
      subject: string
      html: string
      text: string
      /** Path of a page to show in an `<iframe>`. Needs no credentials, and expires after 15 minutes. `?images=off` blocks remote images. */
      frameUrl?: string
      /** Variables without a value and without a fallback. */
      missingVariables: string[]
    }
  }

  /**
   * Send a test email of a template
   *
   * Sends the template to one address, with `[TEST]` in its subject. Rendered for the contact with this address, if there is one; with `contactId`, with the data of that contact. Ignores subscriptions, not suppressions. The email has `test: true`, is not tracked, and is in no counts. At most 60 an hour and project.
   */
  'POST /templates/{id}/test': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      email: string
      contactId?: string
    }
    response: {
      /** False when the email is not sent, because the address is suppressed. */
      success: boolean
      message: string
      /** The record of the email, with `test: true`. */
      emailId: string
    }
  }

  /** Get the usage of a template */
  'GET /templates/{id}/usage': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      campaigns: {
        id: string
        name: string
      }[]
      workflowSteps: {
        id: string
        name: string
        workflowId: string
        workflowName: string
      }[]
      emailsSent: number
    }
  }

  /**
   * List the versions of a template, newest first
   *
   * The newest 50 that came before the current one are kept, up to 20 MB.
   */
  'GET /templates/{id}/versions': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      data: TemplateVersion[]
    }
  }

  /** Get a version of a template */
  'GET /templates/{id}/versions/{version}': {
    params: {
      id: string
      version: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      version: number
      isCurrent: boolean
      subject: string
      previewText: string | null
      from: string | null
      fromName: string | null
      replyTo: string | null
      type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
      /** Size of the body. */
      bytes: number
      hasDesign: boolean
      /** Address of the person who saved it. Null for an API key. */
      savedBy: string | null
      savedAt: string
      body: string
      design: Design | null
    }
  }

  /**
   * Restore a version of a template
   *
   * Saves the content of the version again, as a new version.
   */
  'POST /templates/{id}/versions/{version}/restore': {
    params: {
      id: string
      version: string
    }
    query: undefined
    headers: {
      /** The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision. */
      'If-Match'?: string
    }
    body: undefined
    response: Template
  }

  /**
   * Upload an image
   *
   * JPEG, PNG, GIF or WebP of at most 10 MB. The image is re-encoded, which removes its metadata and any hidden content.
   */
  'POST /uploads/image': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      image: Blob
    }
    response: Upload
  }

  /** Get an uploaded image */
  'GET /uploads/{key}': {
    params: {
      key: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /** Get the current user */
  'GET /users/@me': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: User
  }

  /** List your projects */
  'GET /users/@me/projects': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: Project[]
  }

  /** Create a project */
  'POST /users/@me/projects': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      name: string
    }
    response: Project
  }

  /** Update a project */
  'PATCH /users/@me/projects/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      name?: string
      tracking?: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
      language?: 'en' | 'de' | 'fr' | 'es' | 'it' | 'nl' | 'pt' | 'pl' | 'ja' | 'zh'
      /** IANA name of a time zone, such as Europe/Berlin. */
      timezone?: string
      /** Fields that hold the name of a contact, the best first; several are joined by ` + `. Default: `name`, `firstName + lastName`. */
      nameFields?: string[]
      brand?: BrandInput
    }
    response: Project
  }

  /** Delete a project */
  'DELETE /users/@me/projects/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Get the consumption of the current period
   *
   * The period is that of the subscription, else the calendar month in UTC.
   */
  'GET /users/@me/projects/{id}/billing-consumption': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: BillingConsumption
  }

  /** List invoices */
  'GET /users/@me/projects/{id}/billing-invoices': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      /** The latest 100, the latest first. */
      invoices: Invoice[]
      hasUnpaidInvoices: boolean
      unpaidInvoices: Invoice[]
    }
  }

  /**
   * Get the billing limits and their usage
   *
   * Also without a billing provider.
   */
  'GET /users/@me/projects/{id}/billing-limits': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: BillingLimits
  }

  /**
   * Change the billing limits
   *
   * Emails beyond a limit are refused with 402 `BILLING_LIMIT_EXCEEDED`; campaigns pause, workflows fail the step, and received emails are refused with 452, until the limit is raised or the next period begins.
   */
  'PUT /users/@me/projects/{id}/billing-limits': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** Null removes the limit; without a value it stays as it is. */
      workflows?: number | null
      /** Null removes the limit; without a value it stays as it is. */
      campaigns?: number | null
      /** Null removes the limit; without a value it stays as it is. */
      transactional?: number | null
      /** Null removes the limit; without a value it stays as it is. */
      inbound?: number | null
    }
    response: BillingLimits
  }

  /**
   * Open the billing portal
   *
   * Responds with its page at the billing provider. 404 while the project has no customer there.
   */
  'POST /users/@me/projects/{id}/billing-portal': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      url: string
    }
  }

  /**
   * Start a subscription
   *
   * Responds with the page of the billing provider to go to.
   */
  'POST /users/@me/projects/{id}/checkout': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      url: string
    }
  }

  /**
   * Regenerate both API keys
   *
   * When this responds, the old keys no longer work on any node.
   */
  'POST /users/@me/projects/{id}/regenerate-keys': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Project
  }

  /**
   * Delete all data of a project
   *
   * Irreversible. Keeps domains, members, keys and suppressions. Running jobs stop and leave nothing behind.
   */
  'POST /users/@me/projects/{id}/reset': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      success: true
      message: string
    }
  }

  /**
   * Get the reputation of a project
   *
   * Bounce and complaint rates, their levels, and when the project was disabled because of them.
   */
  'GET /users/@me/projects/{id}/security': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Security
  }

  /** List your sessions */
  'GET /users/@me/sessions': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: Session[]
  }

  /** End all your other sessions */
  'DELETE /users/@me/sessions': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      endedCount: number
    }
  }

  /** End one of your sessions */
  'DELETE /users/@me/sessions/{sessionId}': {
    params: {
      sessionId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Send an email
   *
   * Sends one email to each recipient, at once or at the time `sendAt`. Responds when all of them are durably queued. Send an `Idempotency-Key` header to make retries safe.
   */
  'POST /v1/send': {
    params: undefined
    query: undefined
    headers: {
      /** 1 to 255 printable ASCII characters. A repeat with the same key is refused with 409, with the ids that the first request created. */
      'Idempotency-Key'?: string
      /** `true`: a repeat with the same Idempotency-Key and the same body is answered like the first request, with the header `Idempotency-Replayed: true`. */
      'Idempotency-Replay'?: string
    }
    body: {
      to: string | {
        name?: string
        email: string
      } | (string | {
        name?: string
        email: string
      })[]
      subject?: string
      body?: string
      template?: string
      from?: string | {
        name?: string
        email: string
      }
      /** Deprecated: use `from.name`. Applies only if `from` is a string without a name. */
      name?: string
      subscribed?: boolean
      data?: Record<string, unknown> | null
      headers?: Record<string, string>
      reply?: string
      attachments?: {
        filename: string
        /** Base64; line breaks and missing padding are accepted. */
        content: string
        /** A MIME type, optionally with parameters: `text/csv; charset=utf-8`. */
        contentType: string
        contentId?: string
        disposition?: 'attachment' | 'inline'
      }[]
      sendAt?: string | null
    }
    response: {
      success: true
      data: {
        emails: {
          contact: {
            id: string
            email: string
          }
          email: string
        }[]
        timestamp: string
      }
    }
  }

  /**
   * Track an event
   *
   * Creates or updates the contact and records the event. Send an `Idempotency-Key` header to make retries safe.
   */
  'POST /v1/track': {
    params: undefined
    query: undefined
    headers: {
      /** 1 to 255 printable ASCII characters. A repeat with the same key is refused with 409, with the ids that the first request created. */
      'Idempotency-Key'?: string
      /** `true`: a repeat with the same Idempotency-Key and the same body is answered like the first request, with the header `Idempotency-Replayed: true`. */
      'Idempotency-Replay'?: string
    }
    body: {
      email: string
      event: string
      subscribed?: boolean
      data?: Record<string, unknown> | null
    }
    response: {
      success: true
      data: {
        contact: string
        event: string
        timestamp: string
      }
    }
  }

  /**
   * Verify an email address
   *
   * Checks spelling, lists of providers, and DNS. Replies within 5 seconds; sends no email and contacts no mail server.
   */
  'POST /v1/verify': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      email: string
    }
    response: {
      success: true
      data: AddressVerification
    }
  }

  /** List webhook endpoints */
  'GET /webhook-endpoints': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: WebhookEndpoint[]
  }

  /**
   * Create a webhook endpoint
   *
   * Sterna tells it what happens in the project, by POST requests signed as Standard Webhooks describes. At most 20.
   */
  'POST /webhook-endpoints': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      /** http or https. A host of a private network is refused. */
      url: string
      description?: string | null
      /** `["*"]` for everything, or types: those under `webhooks` in this document, `segment.<slug>.entry`, `segment.<slug>.exit`, `event.<name>` for tracked events, and groups such as `email.*`. */
      events?: string[]
      enabled?: boolean
    }
    response: WebhookEndpoint
  }

  /** Get a webhook endpoint */
  'GET /webhook-endpoints/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: WebhookEndpoint
  }

  /**
   * Change a webhook endpoint
   *
   * Deliveries that waited when a request disabled it go on once it is enabled.
   */
  'PATCH /webhook-endpoints/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** http or https. A host of a private network is refused. */
      url?: string
      description?: string | null
      /** `["*"]` for everything, or types: those under `webhooks` in this document, `segment.<slug>.entry`, `segment.<slug>.exit`, `event.<name>` for tracked events, and groups such as `email.*`. */
      events?: string[]
      enabled?: boolean
    }
    response: WebhookEndpoint
  }

  /** Delete a webhook endpoint */
  'DELETE /webhook-endpoints/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * List deliveries of a webhook endpoint
   *
   * The newest first. Those that failed are kept for 30 days, those that succeeded for 3.
   */
  'GET /webhook-endpoints/{id}/deliveries': {
    params: {
      id: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      status?: 'pending' | 'delivered' | 'failed'
      type?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: WebhookDelivery[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /**
   * Make a delivery again
   *
   * With the same `webhook-id` and payload, and with all attempts of a new delivery.
   */
  'POST /webhook-endpoints/{id}/deliveries/{deliveryId}/replay': {
    params: {
      id: string
      deliveryId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: WebhookDelivery
  }

  /** Make the deliveries of a period again */
  'POST /webhook-endpoints/{id}/replay': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** Deliveries of what happened from this time on. */
      from: string
      /** And up to this one; without it, up to now. */
      to?: string
      /** Without it, deliveries that failed and those that succeeded. */
      status?: 'delivered' | 'failed'
    }
    response: {
      message: string
      jobId: string
    }
  }

  /**
   * Rotate the secret of a webhook endpoint
   *
   * For `graceHours` requests are signed with both secrets.
   */
  'POST /webhook-endpoints/{id}/rotate-secret': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      graceHours?: number
    } | undefined
    response: WebhookEndpoint
  }

  /**
   * Send a test request to a webhook endpoint
   *
   * A signed request of the type `test`, now and once. It is not a delivery. 409 while an operator has held sending.
   */
  'POST /webhook-endpoints/{id}/test': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      /** The HTTP status of the reply; null if there was no reply. */
      status: number | null
      durationMs: number
      error: string | null
    }
  }

  /** List workflows */
  'GET /workflows': {
    params: undefined
    query: {
      /** 1 to 1,000,000,000, default 1. A larger number counts as the maximum, any other value as the default. */
      page?: number
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      pageSize?: number
      /** Case-insensitive search in name and description. */
      search?: string
      status?: 'active' | 'disabled'
      triggerType?: 'EVENT' | 'MANUAL' | 'SCHEDULE'
      /** Only workflows with failed executions, or only those without. */
      failed?: boolean | 'true' | 'false'
      /** `name` or `createdAt` or `updatedAt`. Any other value counts as `createdAt`, the default. */
      sort?: string
      /** `asc` or `desc`. Any other value counts as `desc`, the default. */
      dir?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: WorkflowItem[]
      total: number
      page: number
      pageSize: number
      totalPages: number
    }
  }

  /**
   * Create a workflow
   *
   * Starts as `EVENT` and disabled, with a TRIGGER step.
   */
  'POST /workflows': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      name: string
      /** The event that starts it. Or give `triggerConfig`. */
      eventName?: string
      /** `EVENT`: `{eventName}`. `SCHEDULE`: `{schedule, timezone?, segmentId}`. `MANUAL`: nothing. */
      triggerConfig?: unknown
      description?: string | null
      allowReentry?: boolean
    }
    response: Workflow
  }

  /**
   * List fields for conditions
   *
   * Fields of contacts, and with `eventName` those of the last events of this name.
   */
  'GET /workflows/fields': {
    params: undefined
    query: {
      eventName?: string
    }
    headers: undefined
    body: undefined
    response: {
      fields: string[]
      typedFields: {
        field: string
        type: 'number' | 'boolean' | 'date' | 'string'
        category: 'contact' | 'data' | 'event'
      }[]
      count: number
    }
  }

  /**
   * List recipes for workflows
   *
   * Complete workflows with their emails, to begin with and to change.
   */
  'GET /workflows/recipes': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: {
      data: WorkflowRecipe[]
    }
  }

  /**
   * Create a workflow from a recipe
   *
   * Makes its templates, in the look of the project, a segment if it runs by a schedule, and the workflow, which is disabled. The sender of the templates is that of the template changed last, else one of the first verified domain.
   */
  'POST /workflows/recipes/{key}': {
    params: {
      key: string
    }
    query: undefined
    headers: undefined
    body: {
      name?: string
      /** Instead of the event of the recipe. Ignored for a schedule. */
      eventName?: string
    } | undefined
    response: Workflow
  }

  /**
   * Get a workflow with its steps and transitions
   *
   * To a key without the scope `workflows`, the values of headers of WEBHOOK steps and the query of their address read `•••`.
   */
  'GET /workflows/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Workflow
  }

  /**
   * Update a workflow
   *
   * Disabling keeps contacts from entering; executions that run go on.
   */
  'PATCH /workflows/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: {
      /** The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision. */
      'If-Match'?: string
    }
    body: {
      name?: string
      description?: string | null
      triggerType?: 'EVENT' | 'MANUAL' | 'SCHEDULE'
      /** `EVENT`: `{eventName}`. `SCHEDULE`: `{schedule, timezone?, segmentId}`. `MANUAL`: nothing. */
      triggerConfig?: unknown
      enabled?: boolean
      allowReentry?: boolean
    }
    response: Workflow
  }

  /**
   * Delete a workflow
   *
   * Refused while it has active executions. Its executions are deleted with it, and the templates that were written in it unless something else uses them; their emails stay.
   */
  'DELETE /workflows/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * Duplicate a workflow
   *
   * The copy is disabled, and has copies of the templates that were written in the original.
   */
  'POST /workflows/{id}/duplicate': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: Workflow
  }

  /**
   * List executions
   *
   * Newest first. At most 10,000 are counted and listed: filters find the others.
   */
  'GET /workflows/{id}/executions': {
    params: {
      id: string
    }
    query: {
      /** 1 to 1,000,000,000, default 1. A larger number counts as the maximum, any other value as the default. */
      page?: number
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      pageSize?: number
      /** One or several, also separated by commas. */
      status?: ('RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED')[]
      /** Executions that are at this step, or ended there. */
      stepId?: string
      contactId?: string
      /** A time, or a date, which means the whole day in UTC. */
      startedFrom?: string
      /** A time, or a date, which means the whole day in UTC. */
      startedTo?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: WorkflowExecutionItem[]
      /** The same as `data`. */
      executions: WorkflowExecutionItem[]
      total: number
      page: number
      pageSize: number
      totalPages: number
    }
  }

  /**
   * Start an execution for a contact
   *
   * Refused with 409 while the workflow is disabled, and for a contact that may not enter.
   */
  'POST /workflows/{id}/executions': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      contactId: string
      /** Variables of this execution: in templates by their names, in conditions as `context.<path>`. */
      context?: Record<string, unknown>
    }
    response: WorkflowExecutionDetails
  }

  /**
   * Cancel all active executions
   *
   * Or those that match the filters.
   */
  'POST /workflows/{id}/executions/cancel-all': {
    params: {
      id: string
    }
    query: {
      status?: 'RUNNING' | 'WAITING'
      /** Executions that are at this step. */
      stepId?: string
      contactId?: string
      /** A time, or a date, which means the whole day in UTC. */
      startedFrom?: string
      /** A time, or a date, which means the whole day in UTC. */
      startedTo?: string
    }
    headers: undefined
    body: undefined
    response: {
      cancelled: number
    }
  }

  /**
   * Get an execution with its steps
   *
   * To a key without the scope `workflows`, the values of headers of WEBHOOK steps and the query of their address read `•••`.
   */
  'GET /workflows/{id}/executions/{executionId}': {
    params: {
      id: string
      executionId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: WorkflowExecutionDetails
  }

  /**
   * Cancel an execution
   *
   * Refused with 409 if it has ended. An email that is already queued is sent.
   */
  'DELETE /workflows/{id}/executions/{executionId}': {
    params: {
      id: string
      executionId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: WorkflowExecution
  }

  /** Explain why a contact is in a workflow, or not */
  'GET /workflows/{id}/explain/{contactId}': {
    params: {
      id: string
      contactId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      contact: {
        id: string
        email: string
        subscribed: boolean
      }
      /** Whether the contact is in the workflow now. */
      isActive: boolean
      canEnter: boolean
      /** Why the contact is or is not in it. */
      reason: 'disabled' | 'active' | 'reentry' | 'too_many' | 'not_triggered' | 'ready'
      message: string
      /** When the event that starts the workflow last happened for the contact. */
      triggeredAt: string | null
      /** Newest first, at most 100. */
      executions: {
        id: string
        version: number
        status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED'
        exitReason: string | null
        currentStepId: string | null
        startedAt: string
        completedAt: string | null
      }[]
      /** Starts that a limit refused, by hour. */
      refusals: {
        reason: string
        hour: string
        count: number
      }[]
    }
  }

  /**
   * Replace all steps and transitions
   *
   * At once: no execution starts with a part of the change. New ids may be chosen by the caller.
   */
  'PUT /workflows/{id}/graph': {
    params: {
      id: string
    }
    query: undefined
    headers: {
      /** The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision. */
      'If-Match'?: string
    }
    body: {
      /** The TRIGGER step keeps its id, and may be left out. */
      steps: {
        type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
        name?: string
        position?: {
          x: number
          y: number
        }
        /** By type: see docs/workflows.md. */
        config?: unknown
        /** The template of a SEND_EMAIL step, instead of `config.templateId`. */
        templateId?: string | null
        id?: string
      }[]
      transitions: {
        fromStepId: string
        toStepId: string
        branch?: string | null
        condition?: {
          branch?: string | null
        } | null
        priority?: number
        id?: string
      }[]
      /** The version that was read. Refused with 409 when there is a newer one. */
      version: number
    }
    response: Workflow
  }

  /**
   * Simulate a workflow for a contact
   *
   * Shows the path with times, rendered subjects and webhook requests. Sends and stores nothing. Waits end by their timeout, unless `answers` say otherwise.
   */
  'POST /workflows/{id}/simulate': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      contactId?: string
      contact?: {
        email?: string
        subscribed?: boolean
        /** Custom fields. A key set to null is deleted, "" is ignored, { value, persistent: false } is not stored. */
        data?: Record<string, unknown>
      }
      event?: {
        name: string
        /** Custom fields. A key set to null is deleted, "" is ignored, { value, persistent: false } is not stored. */
        data?: Record<string, unknown>
      }
      /** When the execution starts; now by default. */
      at?: string
      /** Branches to take instead of those that the steps would, by the id of the step. Of a WAIT_FOR_EVENT also `event`: it happens at once. */
      answers?: Record<string, string>
      /** Position in the path of a step to look into: what it sees, and the email that it sends. */
      inspect?: number
    } | undefined
    response: {
      path: {
        stepId: string
        name: string
        type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
        /** When an execution that starts now comes to the step. */
        at: string
        /** The branch that it takes. */
        branch: string | null
        /** The rendered subject, the webhook request, the changes of the contact. */
        result: unknown
      }[]
      end: 'COMPLETED' | 'EXITED' | 'FAILED' | 'WAITING'
      reason: string | null
      endsAt: string
      /** The data that the step at `inspect` of the path sees, as earlier steps have left it. */
      inspected: {
        contact: {
          email: string
          subscribed: boolean
          data: Record<string, unknown>
        }
        /** The event that started the execution. */
        event: unknown
        context: Record<string, unknown>
        /** The email of a SEND_EMAIL step, if it is sent. */
        email: {
          subject: string
          html: string
          text: string
          /** Path of a page to show in an `<iframe>`. Needs no credentials, and expires after 15 minutes. `?images=off` blocks remote images. */
          frameUrl?: string
        } | null
      } | null
    }
  }

  /** Get the figures of each step and transition */
  'GET /workflows/{id}/stats': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      version: number
      /** Executions so far. */
      started: number
      /** Without those that were deleted by age. */
      executions: number
      /** `GET /workflows/{id}/steps/{stepId}/visits` lists the visits behind each figure. */
      steps: {
        stepId: string
        name: string
        type: 'TRIGGER' | 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
        /** Visits, without those of executions that were deleted by age. The sum of the figures below. */
        entered: number
        /** Visits that are open: executions at the step now. */
        waiting: number
        completed: number
        /** The step did not apply to the contact, and the execution went on. */
        skipped: number
        failed: number
        /** The execution was cancelled while it was at the step. */
        cancelled: number
      }[]
      transitions: {
        transitionId: string
        fromStepId: string
        toStepId: string
        branch: string | null
        /** So far, also by executions that were deleted by age. */
        taken: number
      }[]
      /** Only for a SCHEDULE that is enabled. */
      nextFiringAt: string | null
      /** The last firings of a SCHEDULE, newest first. */
      firings: {
        firedFor: string
        status: 'RUNNING' | 'DONE' | 'SKIPPED'
        /** `under_way`: the firing before had not ended. `too_late`: missed by more than an hour. */
        reason: string | null
        enrolled: number
        endedAt: string | null
      }[]
    }
  }

  /** Add a step */
  'POST /workflows/{id}/steps': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      type: 'SEND_EMAIL' | 'DELAY' | 'WAIT_FOR_EVENT' | 'CONDITION' | 'WEBHOOK' | 'UPDATE_CONTACT' | 'EXIT'
      name?: string
      position?: {
        x: number
        y: number
      }
      /** By type: see docs/workflows.md. */
      config?: unknown
      /** The template of a SEND_EMAIL step, instead of `config.templateId`. */
      templateId?: string | null
    }
    response: WorkflowStep
  }

  /**
   * Update a step
   *
   * Executions that run keep the step as it was when they started.
   */
  'PATCH /workflows/{id}/steps/{stepId}': {
    params: {
      id: string
      stepId: string
    }
    query: undefined
    headers: {
      /** The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision. */
      'If-Match'?: string
    }
    body: {
      name?: string
      position?: {
        x: number
        y: number
      }
      /** By type: see docs/workflows.md. */
      config?: unknown
      templateId?: string | null
    }
    response: WorkflowStep
  }

  /**
   * Delete a step
   *
   * With its transitions. With `splice=true` transitions to it lead to the step after it instead.
   */
  'DELETE /workflows/{id}/steps/{stepId}': {
    params: {
      id: string
      stepId: string
    }
    query: {
      splice?: boolean | 'true' | 'false'
    }
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * List the visits of a step
   *
   * Newest first. Those of one outcome are as many as the figure of that name, without `outcome` as many as `entered`.
   */
  'GET /workflows/{id}/steps/{stepId}/visits': {
    params: {
      id: string
      stepId: string
    }
    query: {
      /** 1 to 100, default 20. A larger number counts as the maximum, any other value as the default. */
      limit?: number
      cursor?: string
      /** One or several, also separated by commas. All of them by default: the figure `entered`. */
      outcome?: ('waiting' | 'completed' | 'skipped' | 'failed' | 'cancelled')[]
      /** Only those after which the execution came to this step. */
      nextStepId?: string
    }
    headers: undefined
    body: undefined
    response: {
      data: WorkflowVisit[]
      cursor: string | null
      hasMore: boolean
      total: number
    }
  }

  /** Add a transition */
  'POST /workflows/{id}/transitions': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      fromStepId: string
      toStepId: string
      branch?: string | null
      condition?: {
        branch?: string | null
      } | null
      priority?: number
    }
    response: WorkflowTransition
  }

  /** Delete a transition */
  'DELETE /workflows/{id}/transitions/{transitionId}': {
    params: {
      id: string
      transitionId: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }

  /**
   * List the versions of a workflow
   *
   * Newest first. The last 50 are kept, and those that executions follow.
   */
  'GET /workflows/{id}/versions': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      data: WorkflowVersion[]
    }
  }

  /**
   * Get the steps of a version
   *
   * To restore it, save its steps and transitions with `PUT /workflows/{id}/graph`. To a key without the scope `workflows`, the values of headers of WEBHOOK steps and the query of their address read `•••`.
   */
  'GET /workflows/{id}/versions/{version}': {
    params: {
      id: string
      version: number
    }
    query: undefined
    headers: undefined
    body: undefined
    response: {
      version: number
      isCurrent: boolean
      /** Address of the person who saved it. Null for an API key. */
      savedBy: string | null
      savedAt: string
      steps: WorkflowStep[]
      transitions: WorkflowTransition[]
    }
  }

  /**
   * Show the request of a webhook
   *
   * As it would be made for this contact and event, without the signature. Calls nothing.
   */
  'POST /workflows/{id}/webhook-preview': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** The config of a WEBHOOK step, saved or not. */
      config: unknown
      /** The contact of the execution; a made-up one by default. */
      contactId?: string
      /** The event that started the execution. */
      event?: {
        name: string
        /** Custom fields. A key set to null is deleted, "" is ignored, { value, persistent: false } is not stored. */
        data?: Record<string, unknown>
      }
    }
    response: {
      url: string
      method: string
      headers: Record<string, string>
      body: string | null
    }
  }

  /**
   * Call a webhook
   *
   * Makes the request once, signed, to the same addresses that WEBHOOK steps may call. Returns only the status of the reply. At most 60 an hour and project. 409 while an operator has held sending.
   */
  'POST /workflows/{id}/webhook-test': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: {
      /** The config of a WEBHOOK step, saved or not. */
      config: unknown
      /** The contact of the execution; a made-up one by default. */
      contactId?: string
      /** The event that started the execution. */
      event?: {
        name: string
        /** Custom fields. A key set to null is deleted, "" is ignored, { value, persistent: false } is not stored. */
        data?: Record<string, unknown>
      }
    }
    response: {
      /** Null: there was no reply. */
      status: number | null
      durationMs: number
      error: string | null
      request: {
        url: string
        method: string
        headers: Record<string, string>
        body: string | null
      }
    }
  }
}

/** Operations that return a file. */
export const DOWNLOADS: ReadonlySet<string> = /* @__PURE__ */ new Set<string>([
  'GET /campaigns/export/{jobId}/file',
  'GET /contacts/export/{jobId}/file',
  'GET /contacts/import/{jobId}/errors',
  'GET /emails/export/{jobId}/file',
  'GET /suppressions/export',
  'GET /suppressions/export/{jobId}/file',
  'GET /uploads/{key}',
])

export class ActivityApi extends Resource {
  /** List activities, newest first. Emails, events, subscriptions, suppressions, campaigns and workflows in one list. With `contactId` or dates `total` stops at 10,000. */
  readonly list = (query: Query<'GET /activity'> = {}, options: CallOptions = {}): Promise<Result<'GET /activity'>> =>
    this.call('GET /activity', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /activity'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /activity'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.list({ ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Count the activities of the last minutes. Counts up to 100,000. */
  readonly recentCount = (query: Query<'GET /activity/recent-count'> = {}, options: CallOptions = {}): Promise<Result<'GET /activity/recent-count'>> =>
    this.call('GET /activity/recent-count', { query }, options)

  /** Count activities. By whole UTC days, including those of `startDate` and `endDate`; without dates of all time. */
  readonly stats = (query: Query<'GET /activity/stats'> = {}, options: CallOptions = {}): Promise<Result<'GET /activity/stats'>> =>
    this.call('GET /activity/stats', { query }, options)

  /** List the types of activities */
  readonly types = (options: CallOptions = {}): Promise<Result<'GET /activity/types'>> =>
    this.call('GET /activity/types', {}, options)

  /** List what is due next. Scheduled campaigns, and executions of workflows whose pause ends, the next first. */
  readonly upcoming = (query: Query<'GET /activity/upcoming'> = {}, options: CallOptions = {}): Promise<Result<'GET /activity/upcoming'>> =>
    this.call('GET /activity/upcoming', { query }, options)

  /** Iterates over all items of `upcoming`. */
  readonly allUpcoming = (query: Query<'GET /activity/upcoming'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /activity/upcoming'>['activities'][number]> =>
    iterateWhole(() => this.upcoming(query, options).then(({ activities }) => activities), { max })
}

export class AnalyticsApi extends Resource {
  /** Count campaigns by status, and their results. With dates: of campaigns that began in the period. */
  readonly campaignStats = (query: Query<'GET /analytics/campaign-stats'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/campaign-stats'>> =>
    this.call('GET /analytics/campaign-stats', { query }, options)

  /** Get the time from acceptance to delivery. For emails whose delivery was reported on these UTC days. */
  readonly deliveryTimes = (query: Query<'GET /analytics/delivery-times'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/delivery-times'>> =>
    this.call('GET /analytics/delivery-times', { query }, options)

  /** Get figures of emails by domain of the recipient. The 100 largest domains of a UTC day are counted apart, the others together. */
  readonly domains = (query: Query<'GET /analytics/domains'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/domains'>> =>
    this.call('GET /analytics/domains', { query }, options)

  /** Iterates over all items of `domains`. */
  readonly allDomains = (query: Query<'GET /analytics/domains'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /analytics/domains'>[number]> =>
    iterateWhole(() => this.domains(query, options), { max })

  /** Get new, unsubscribed and deleted contacts by day and source. By UTC day. */
  readonly growth = (query: Query<'GET /analytics/growth'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/growth'>> =>
    this.call('GET /analytics/growth', { query }, options)

  /** List campaigns, templates or workflows by clicks. By the share of emails that were clicked in the period. Those with fewer than 50 sent emails come last. */
  readonly leaders = (query: Query<'GET /analytics/leaders'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/leaders'>> =>
    this.call('GET /analytics/leaders', { query }, options)

  /** Iterates over all items of `leaders`. */
  readonly allLeaders = (query: Query<'GET /analytics/leaders'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /analytics/leaders'>[number]> =>
    iterateWhole(() => this.leaders(query, options), { max })

  /** Get the figures of a period and of the one before. By UTC day. */
  readonly summary = (query: Query<'GET /analytics/summary'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/summary'>> =>
    this.call('GET /analytics/summary', { query }, options)

  /** Get figures of emails by day or hour. One point per day or hour, also if nothing happened. Each figure counts at the time at which it happened, a few seconds later. At most 731 days, by the hour 31. */
  readonly timeseries = (query: Query<'GET /analytics/timeseries'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/timeseries'>> =>
    this.call('GET /analytics/timeseries', { query }, options)

  /** Iterates over all items of `timeseries`. */
  readonly allTimeseries = (query: Query<'GET /analytics/timeseries'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /analytics/timeseries'>[number]> =>
    iterateWhole(() => this.timeseries(query, options), { max })

  /** List the best campaigns. Campaigns that began in the period, or all campaigns if no period is given. */
  readonly topCampaigns = (query: Query<'GET /analytics/top-campaigns'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/top-campaigns'>> =>
    this.call('GET /analytics/top-campaigns', { query }, options)

  /** Iterates over all items of `topCampaigns`. */
  readonly allTopCampaigns = (query: Query<'GET /analytics/top-campaigns'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /analytics/top-campaigns'>[number]> =>
    iterateWhole(() => this.topCampaigns(query, options), { max })

  /** List the most frequent events. Events that API clients track, by UTC day. */
  readonly topEvents = (query: Query<'GET /analytics/top-events'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/top-events'>> =>
    this.call('GET /analytics/top-events', { query }, options)

  /** Iterates over all items of `topEvents`. */
  readonly allTopEvents = (query: Query<'GET /analytics/top-events'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /analytics/top-events'>[number]> =>
    iterateWhole(() => this.topEvents(query, options), { max })

  /** Get figures of emails by hour of the week */
  readonly weekdayHours = (query: Query<'GET /analytics/weekday-hours'> = {}, options: CallOptions = {}): Promise<Result<'GET /analytics/weekday-hours'>> =>
    this.call('GET /analytics/weekday-hours', { query }, options)

  /** Iterates over all items of `weekdayHours`. */
  readonly allWeekdayHours = (query: Query<'GET /analytics/weekday-hours'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /analytics/weekday-hours'>[number]> =>
    iterateWhole(() => this.weekdayHours(query, options), { max })
}

export class AuthApi extends Resource {
  /** Accept an invitation */
  readonly acceptInvitation = (body: Body<'POST /auth/accept-invitation'>, options: CallOptions = {}): Promise<Result<'POST /auth/accept-invitation'>> =>
    this.call('POST /auth/accept-invitation', { body }, options)

  /** Change your password. Signs out all other sessions. */
  readonly changePassword = (body: Body<'POST /auth/change-password'>, options: CallOptions = {}): Promise<Result<'POST /auth/change-password'>> =>
    this.call('POST /auth/change-password', { body }, options)

  /** Verify your own email address without a link. For the operator of an installation in the sandbox, which sends no account emails. Others verify by the link of the email. */
  readonly confirmAddress = (options: CallOptions = {}): Promise<Result<'POST /auth/confirm-address'>> =>
    this.call('POST /auth/confirm-address', {}, options)

  /** Get the invitation of a link. The project, and the person that invites to it. Changes nothing. For a page that anyone may open: a wrong token is no error. */
  readonly invitation = (body: Body<'POST /auth/invitation'>, options: CallOptions = {}): Promise<Result<'POST /auth/invitation'>> =>
    this.call('POST /auth/invitation', { body }, options)

  /** Sign in */
  readonly logIn = (body: Body<'POST /auth/login'>, options: CallOptions = {}): Promise<Result<'POST /auth/login'>> =>
    this.call('POST /auth/login', { body }, options)

  /** Sign out */
  readonly logOut = (options: CallOptions = {}): Promise<Result<'GET /auth/logout'>> =>
    this.call('GET /auth/logout', {}, options)

  /** List configured OAuth providers */
  readonly oauthConfig = (options: CallOptions = {}): Promise<Result<'GET /auth/oauth-config'>> =>
    this.call('GET /auth/oauth-config', {}, options)

  /** Request a password reset. Responds the same whether or not the address has an account. */
  readonly requestPasswordReset = (body: Body<'POST /auth/request-password-reset'>, options: CallOptions = {}): Promise<Result<'POST /auth/request-password-reset'>> =>
    this.call('POST /auth/request-password-reset', { body }, options)

  /** Resend the verification email */
  readonly requestVerification = (options: CallOptions = {}): Promise<Result<'POST /auth/request-verification'>> =>
    this.call('POST /auth/request-verification', {}, options)

  /** Reset a password */
  readonly resetPassword = (body: Body<'POST /auth/reset-password'>, options: CallOptions = {}): Promise<Result<'POST /auth/reset-password'>> =>
    this.call('POST /auth/reset-password', { body }, options)

  /** Get the current user, if signed in. For pages that anyone may open: not being signed in is no error here. */
  readonly session = (options: CallOptions = {}): Promise<Result<'GET /auth/session'>> =>
    this.call('GET /auth/session', {}, options)

  /** Create an account and sign in */
  readonly signUp = (body: Body<'POST /auth/signup'>, options: CallOptions = {}): Promise<Result<'POST /auth/signup'>> =>
    this.call('POST /auth/signup', { body }, options)

  /** Verify an email address */
  readonly verifyEmail = (body: Body<'POST /auth/verify-email'>, options: CallOptions = {}): Promise<Result<'POST /auth/verify-email'>> =>
    this.call('POST /auth/verify-email', { body }, options)
}

export class CampaignsApi extends Resource {
  /** List campaigns */
  readonly list = (query: Query<'GET /campaigns'> = {}, options: CallOptions = {}): Promise<Result<'GET /campaigns'>> =>
    this.call('GET /campaigns', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /campaigns'>, 'page'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns'>['data'][number]> =>
    iterateByPage(
      (pageSize, page) => this.list({ ...query, pageSize, page }, options),
      (page) => page.data,
      { max, pageSize: query.pageSize },
    )

  /** Create a campaign. Creates a draft. An unverified sender is refused with 403. */
  readonly create = (body: Body<'POST /campaigns'>, options: CallOptions = {}): Promise<Result<'POST /campaigns'>> =>
    this.call('POST /campaigns', { body }, options)

  /** Get the status of an export of a campaign */
  readonly exportStatus = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/export/{jobId}'>> =>
    this.call('GET /campaigns/export/{jobId}', { params: { jobId } }, options)

  /** Download the file of an export of a campaign */
  readonly exportFile = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/export/{jobId}/file'>> =>
    this.call('GET /campaigns/export/{jobId}/file', { params: { jobId } }, options)

  /** Get a campaign */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}'>> =>
    this.call('GET /campaigns/{id}', { params: { id } }, options)

  /** Replace a campaign. Replaces the content and the audience of a draft or a scheduled campaign. */
  readonly update = (id: string, body: Body<'PUT /campaigns/{id}'>, options: RevisionOptions = {}): Promise<Result<'PUT /campaigns/{id}'>> =>
    this.call('PUT /campaigns/{id}', { params: { id }, body }, options)

  /** Delete a campaign. Refused while it is scheduled or being sent. Its emails stay. */
  readonly delete = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /campaigns/{id}'>> =>
    this.call('DELETE /campaigns/{id}', { params: { id } }, options)

  /** List the audience of a campaign. The contacts behind the numbers of `preflight`: who would get it now, and who would not. */
  readonly audience = (id: string, query: Query<'GET /campaigns/{id}/audience'> = {}, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/audience'>> =>
    this.call('GET /campaigns/{id}/audience', { params: { id }, query }, options)

  /** Iterates over all items of `audience`, page by page. */
  readonly allAudience = (id: string, query: Omit<Query<'GET /campaigns/{id}/audience'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns/{id}/audience'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.audience(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** List what was done to a campaign. Starts, schedules, pauses, resumes, cancellations and resends, each with its author, newest first. */
  readonly audit = (id: string, query: Query<'GET /campaigns/{id}/audit'> = {}, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/audit'>> =>
    this.call('GET /campaigns/{id}/audit', { params: { id }, query }, options)

  /** Iterates over all items of `audit`, page by page. */
  readonly allAudit = (id: string, query: Omit<Query<'GET /campaigns/{id}/audit'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns/{id}/audit'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.audit(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Cancel a campaign. The campaign must be scheduled or being sent. No further email is sent, except for messages that are on the wire. */
  readonly cancel = (id: string, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/cancel'>> =>
    this.call('POST /campaigns/{id}/cancel', { params: { id } }, options)

  /** Copy recipients of a campaign to a new static segment. By a job. The segment is there at once; recipients whose contact was deleted are left out. */
  readonly copyToSegment = (id: string, body: Body<'POST /campaigns/{id}/copy-to-segment'>, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/copy-to-segment'>> =>
    this.call('POST /campaigns/{id}/copy-to-segment', { params: { id }, body }, options)

  /** Duplicate a campaign. Copies content and audience into a new draft. */
  readonly duplicate = (id: string, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/duplicate'>> =>
    this.call('POST /campaigns/{id}/duplicate', { params: { id } }, options)

  /** List the excluded contacts of a campaign. Contacts that matched the audience when the campaign started, and might not get the email. */
  readonly excluded = (id: string, query: Query<'GET /campaigns/{id}/excluded'> = {}, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/excluded'>> =>
    this.call('GET /campaigns/{id}/excluded', { params: { id }, query }, options)

  /** Iterates over all items of `excluded`, page by page. */
  readonly allExcluded = (id: string, query: Omit<Query<'GET /campaigns/{id}/excluded'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns/{id}/excluded'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.excluded(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Export recipients or excluded contacts of a campaign. As CSV, by a job. At most two unfinished exports per project. */
  readonly export = (id: string, body: Body<'POST /campaigns/{id}/export'>, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/export'>> =>
    this.call('POST /campaigns/{id}/export', { params: { id }, body }, options)

  /** List the first 48 hours of a campaign. Emails sent, and recipients that opened or clicked, by hour. Empty before the start. */
  readonly hours = (id: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/hours'>> =>
    this.call('GET /campaigns/{id}/hours', { params: { id } }, options)

  /** Iterates over all items of `hours`. */
  readonly allHours = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns/{id}/hours'>['data'][number]> =>
    iterateWhole(() => this.hours(id, options).then(({ data }) => data), { max })

  /** List the links of a campaign. Clicks and people, without machines; first the links that most people clicked, last those that nobody clicked. A link with variables is listed as it was clicked, or as it is written if nobody clicked it. */
  readonly links = (id: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/links'>> =>
    this.call('GET /campaigns/{id}/links', { params: { id } }, options)

  /** Iterates over all items of `links`. */
  readonly allLinks = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns/{id}/links'>['data'][number]> =>
    iterateWhole(() => this.links(id, options).then(({ data }) => data), { max })

  /** Show the clicks of a campaign on its email. Renders the email for a made-up recipient, with a label at each tracked link: the people that clicked it, and their share. A link that is at several places has one figure. */
  readonly previewLinks = (id: string, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/links/preview'>> =>
    this.call('POST /campaigns/{id}/links/preview', { params: { id } }, options)

  /** Pause a campaign that is being sent */
  readonly pause = (id: string, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/pause'>> =>
    this.call('POST /campaigns/{id}/pause', { params: { id } }, options)

  /** Check a campaign before sending it. Recipients, excluded contacts, missing values, and the time it will take. Sending does not need it. */
  readonly preflight = (id: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/preflight'>> =>
    this.call('GET /campaigns/{id}/preflight', { params: { id } }, options)

  /** Change the rate of a campaign. Also while it is being sent. */
  readonly changeRate = (id: string, body: Body<'PUT /campaigns/{id}/rate'>, options: CallOptions = {}): Promise<Result<'PUT /campaigns/{id}/rate'>> =>
    this.call('PUT /campaigns/{id}/rate', { params: { id }, body }, options)

  /** Count the recipients of a campaign by reason. Recipients whose email failed, was skipped or is open. Sent emails have no reason. */
  readonly reasons = (id: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/reasons'>> =>
    this.call('GET /campaigns/{id}/reasons', { params: { id } }, options)

  /** Iterates over all items of `reasons`. */
  readonly allReasons = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns/{id}/reasons'>['data'][number]> =>
    iterateWhole(() => this.reasons(id, options).then(({ data }) => data), { max })

  /** List the recipients of a campaign. With the outcome of each and its reason. Recipients are fixed when the campaign starts. */
  readonly recipients = (id: string, query: Query<'GET /campaigns/{id}/recipients'> = {}, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/recipients'>> =>
    this.call('GET /campaigns/{id}/recipients', { params: { id }, query }, options)

  /** Iterates over all items of `recipients`, page by page. */
  readonly allRecipients = (id: string, query: Omit<Query<'GET /campaigns/{id}/recipients'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /campaigns/{id}/recipients'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.recipients(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Resend a campaign to the recipients that failed. Queues the emails again that failed for a reason that may have passed; `docs/campaigns.md` lists the reasons. The campaign must be SENT, and is SENDING until they have ended. Refused with 400 if there are none. */
  readonly resend = (id: string, body: Body<'POST /campaigns/{id}/resend'> = {}, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/resend'>> =>
    this.call('POST /campaigns/{id}/resend', { params: { id }, body }, options)

  /** Resume a campaign. No recipient gets the email twice. */
  readonly resume = (id: string, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/resume'>> =>
    this.call('POST /campaigns/{id}/resume', { params: { id } }, options)

  /** Send or schedule a campaign. Its recipients are the contacts that match the audience when it starts and may get the email then. Refused with 400 if there are none, and with 402 if they are more than the billing limit allows. With `scheduledFor` it is paused instead when it is due. A scheduled campaign is scheduled again. */
  readonly send = (id: string, body: Body<'POST /campaigns/{id}/send'> = {}, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/send'>> =>
    this.call('POST /campaigns/{id}/send', { params: { id }, body }, options)

  /** Get the results of a campaign */
  readonly stats = (id: string, options: CallOptions = {}): Promise<Result<'GET /campaigns/{id}/stats'>> =>
    this.call('GET /campaigns/{id}/stats', { params: { id } }, options)

  /** Send a test email of a campaign. Sends the campaign to one address, with `[TEST]` in its subject. Rendered for the contact with this address, if there is one. Ignores subscriptions, not suppressions. The email has `test: true`, is not tracked, and is in no counts. At most 60 an hour and project. */
  readonly test = (id: string, body: Body<'POST /campaigns/{id}/test'>, options: CallOptions = {}): Promise<Result<'POST /campaigns/{id}/test'>> =>
    this.call('POST /campaigns/{id}/test', { params: { id }, body }, options)
}

export class ConfigApi extends Resource {
  /** Get the features of this installation */
  readonly get = (options: CallOptions = {}): Promise<Result<'GET /config'>> =>
    this.call('GET /config', {}, options)
}

export class ContactsApi extends Resource {
  /** List contacts */
  readonly list = (query: Query<'GET /contacts'> = {}, options: CallOptions = {}): Promise<Result<'GET /contacts'>> =>
    this.call('GET /contacts', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /contacts'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /contacts'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.list({ ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Create or update a contact */
  readonly upsert = (body: Body<'POST /contacts'>, options: CallOptions = {}): Promise<Result<'POST /contacts'>> =>
    this.call('POST /contacts', { body }, options)

  /** Add many contacts to a static segment. Queues a job. */
  readonly bulkAddToSegment = (body: Body<'POST /contacts/bulk-add-to-segment'>, options: CallOptions = {}): Promise<Result<'POST /contacts/bulk-add-to-segment'>> =>
    this.call('POST /contacts/bulk-add-to-segment', { body }, options)

  /** Delete many contacts. Queues a job. */
  readonly bulkDelete = (body: Body<'POST /contacts/bulk-delete'>, options: CallOptions = {}): Promise<Result<'POST /contacts/bulk-delete'>> =>
    this.call('POST /contacts/bulk-delete', { body }, options)

  /** Subscribe many contacts. Queues a job. */
  readonly bulkSubscribe = (body: Body<'POST /contacts/bulk-subscribe'>, options: CallOptions = {}): Promise<Result<'POST /contacts/bulk-subscribe'>> =>
    this.call('POST /contacts/bulk-subscribe', { body }, options)

  /** Unsubscribe many contacts. Queues a job. */
  readonly bulkUnsubscribe = (body: Body<'POST /contacts/bulk-unsubscribe'>, options: CallOptions = {}): Promise<Result<'POST /contacts/bulk-unsubscribe'>> =>
    this.call('POST /contacts/bulk-unsubscribe', { body }, options)

  /** Get the status of a bulk job */
  readonly bulkStatus = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /contacts/bulk/{jobId}'>> =>
    this.call('GET /contacts/bulk/{jobId}', { params: { jobId } }, options)

  /** Export contacts as CSV. Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept. */
  readonly export = (body: Body<'POST /contacts/export'> = {}, options: CallOptions = {}): Promise<Result<'POST /contacts/export'>> =>
    this.call('POST /contacts/export', { body }, options)

  /** Get the status of an export */
  readonly exportStatus = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /contacts/export/{jobId}'>> =>
    this.call('GET /contacts/export/{jobId}', { params: { jobId } }, options)

  /** Download the file of an export */
  readonly exportFile = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /contacts/export/{jobId}/file'>> =>
    this.call('GET /contacts/export/{jobId}/file', { params: { jobId } }, options)

  /** Import contacts from CSV */
  readonly import = (file: Blob, fields: Omit<Body<'POST /contacts/import'>, 'file'> = {}, options: CallOptions = {}): Promise<Result<'POST /contacts/import'>> =>
    this.call('POST /contacts/import', { body: { ...fields, file } }, options)

  /** Get the status of an import */
  readonly importStatus = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /contacts/import/{jobId}'>> =>
    this.call('GET /contacts/import/{jobId}', { params: { jobId } }, options)

  /** Download all failed rows of an import as CSV */
  readonly importErrors = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /contacts/import/{jobId}/errors'>> =>
    this.call('GET /contacts/import/{jobId}/errors', { params: { jobId } }, options)

  /** Look up contacts by email address */
  readonly lookUp = (body: Body<'POST /contacts/lookup'>, options: CallOptions = {}): Promise<Result<'POST /contacts/lookup'>> =>
    this.call('POST /contacts/lookup', { body }, options)

  /** Get a contact */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /contacts/{id}'>> =>
    this.call('GET /contacts/{id}', { params: { id } }, options)

  /** Update a contact */
  readonly update = (id: string, body: Body<'PATCH /contacts/{id}'>, options: CallOptions = {}): Promise<Result<'PATCH /contacts/{id}'>> =>
    this.call('PATCH /contacts/{id}', { params: { id }, body }, options)

  /** Delete a contact */
  readonly delete = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /contacts/{id}'>> =>
    this.call('DELETE /contacts/{id}', { params: { id } }, options)

  /** List subscription changes of a contact. Newest first, each with its source. */
  readonly consent = (id: string, query: Query<'GET /contacts/{id}/consent'> = {}, options: CallOptions = {}): Promise<Result<'GET /contacts/{id}/consent'>> =>
    this.call('GET /contacts/{id}/consent', { params: { id }, query }, options)

  /** Iterates over all items of `consent`, page by page. */
  readonly allConsent = (id: string, query: Omit<Query<'GET /contacts/{id}/consent'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /contacts/{id}/consent'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.consent(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** List the segments of a contact. Segments that the contact is in now, newest segment first. */
  readonly segments = (id: string, options: CallOptions = {}): Promise<Result<'GET /contacts/{id}/segments'>> =>
    this.call('GET /contacts/{id}/segments', { params: { id } }, options)

  /** Iterates over all items of `segments`. */
  readonly allSegments = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /contacts/{id}/segments'>[number]> =>
    iterateWhole(() => this.segments(id, options), { max })
}

export class DesignsApi extends Resource {
  /** Render a design. Returns the HTML and the text of a design, with its template expressions, and what an author should look at. Stores nothing. */
  readonly render = (body: Body<'POST /designs/render'>, options: CallOptions = {}): Promise<Result<'POST /designs/render'>> =>
    this.call('POST /designs/render', { body }, options)

  /** List designs to start from. Complete emails in the look of the project, to copy and change. */
  readonly starters = (options: CallOptions = {}): Promise<Result<'GET /designs/starters'>> =>
    this.call('GET /designs/starters', {}, options)

  /** Iterates over all items of `starters`. */
  readonly allStarters = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /designs/starters'>[number]> =>
    iterateWhole(() => this.starters(options), { max })
}

export class DoctorApi extends Resource {
  /** Check this installation. Configuration, database, disk, sending and billing, and what to do about problems. Only for operators. */
  readonly get = (options: CallOptions = {}): Promise<Result<'GET /doctor'>> =>
    this.call('GET /doctor', {}, options)
}

export class DomainsApi extends Resource {
  /** Add a domain. Returns the DNS records to publish. */
  readonly add = (body: Body<'POST /domains'>, options: CallOptions = {}): Promise<Result<'POST /domains'>> =>
    this.call('POST /domains', { body }, options)

  /** List domains. `current` stands for the project of the key, or of `X-Project-Id`. */
  readonly list = (projectId: string = 'current', options: CallOptions = {}): Promise<Result<'GET /domains/project/{projectId}'>> =>
    this.call('GET /domains/project/{projectId}', { params: { projectId } }, options)

  /** Iterates over all items of `list`. */
  readonly all = (projectId: string = 'current', { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /domains/project/{projectId}'>[number]> =>
    iterateWhole(() => this.list(projectId, options), { max })

  /** Set the link host of a domain. Only for a verified domain. Adds a CNAME to `records`. Once it is found and leads here, links, images and pages of emails from this domain use the host. At most ten changes a day. */
  readonly update = (id: string, body: Body<'PATCH /domains/{id}'>, options: CallOptions = {}): Promise<Result<'PATCH /domains/{id}'>> =>
    this.call('PATCH /domains/{id}', { params: { id }, body }, options)

  /** Delete a domain */
  readonly remove = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /domains/{id}'>> =>
    this.call('DELETE /domains/{id}', { params: { id } }, options)

  /** Verify a domain. Looks up the DNS records now. If a check of the domain is already running, returns its result. */
  readonly verify = (id: string, options: CallOptions = {}): Promise<Result<'GET /domains/{id}/verify'>> =>
    this.call('GET /domains/{id}/verify', { params: { id } }, options)
}

export class EmailsApi extends Resource {
  /** List emails, newest first. A search that takes longer than 3 s is a 503: narrow it by time, status or recipient. */
  readonly list = (query: Query<'GET /emails'> = {}, options: CallOptions = {}): Promise<Result<'GET /emails'>> =>
    this.call('GET /emails', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /emails'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /emails'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.list({ ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Send one email. For people and their tools: accepts a session, and the body of `/v1/send` with one recipient. Follows the same rules, limits and usage, and is in the audit trail. Takes no `Idempotency-Key`: apps that retry use `/v1/send`. */
  readonly send = (body: Body<'POST /emails'>, options: CallOptions = {}): Promise<Result<'POST /emails'>> =>
    this.call('POST /emails', { body }, options)

  /** Export emails as CSV. Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept. */
  readonly export = (body: Body<'POST /emails/export'> = {}, options: CallOptions = {}): Promise<Result<'POST /emails/export'>> =>
    this.call('POST /emails/export', { body }, options)

  /** Get the status of an export of emails */
  readonly exportStatus = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /emails/export/{jobId}'>> =>
    this.call('GET /emails/export/{jobId}', { params: { jobId } }, options)

  /** Download the file of an export of emails */
  readonly exportFile = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /emails/export/{jobId}/file'>> =>
    this.call('GET /emails/export/{jobId}/file', { params: { jobId } }, options)

  /** Get an email with its timeline */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /emails/{id}'>> =>
    this.call('GET /emails/{id}', { params: { id } }, options)

  /** Move a scheduled email. Refused with 409 once a worker has taken it. */
  readonly update = (id: string, body: Body<'PATCH /emails/{id}'>, options: CallOptions = {}): Promise<Result<'PATCH /emails/{id}'>> =>
    this.call('PATCH /emails/{id}', { params: { id }, body }, options)

  /** Cancel a scheduled email. Refused with 409 once a worker has taken it. Its usage is returned. A second time responds the same. */
  readonly cancel = (id: string, options: CallOptions = {}): Promise<Result<'POST /emails/{id}/cancel'>> =>
    this.call('POST /emails/{id}/cancel', { params: { id } }, options)

  /** Preview an email. Renders the email again, from its content and the current data of the contact. Rendered emails are not stored. To a key without the scope `send`, values of the request that the contact does not have read `•••`. */
  readonly preview = (id: string, options: CallOptions = {}): Promise<Result<'GET /emails/{id}/preview'>> =>
    this.call('GET /emails/{id}/preview', { params: { id } }, options)

  /** Resend a failed transactional email. Creates a new email with `resentFrom`. Possible for 7 days after the failure, while the data of the request is kept. */
  readonly resend = (id: string, options: CallOptions = {}): Promise<Result<'POST /emails/{id}/resend'>> =>
    this.call('POST /emails/{id}/resend', { params: { id } }, options)
}

export class EventsApi extends Resource {
  /** List events, newest first */
  readonly list = (query: Query<'GET /events'> = {}, options: CallOptions = {}): Promise<Result<'GET /events'>> =>
    this.call('GET /events', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /events'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /events'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.list({ ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** List events of a contact, newest first */
  readonly ofContact = (contactId: string, query: Query<'GET /events/contact/{contactId}'> = {}, options: CallOptions = {}): Promise<Result<'GET /events/contact/{contactId}'>> =>
    this.call('GET /events/contact/{contactId}', { params: { contactId }, query }, options)

  /** Iterates over all items of `ofContact`, page by page. */
  readonly allOfContact = (contactId: string, query: Omit<Query<'GET /events/contact/{contactId}'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /events/contact/{contactId}'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.ofContact(contactId, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** List event names, most frequent first */
  readonly names = (options: CallOptions = {}): Promise<Result<'GET /events/names'>> =>
    this.call('GET /events/names', {}, options)

  /** Iterates over all items of `names`. */
  readonly allNames = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /events/names'>['eventNames'][number]> =>
    iterateWhole(() => this.names(options).then(({ eventNames }) => eventNames), { max })

  /** List event names with their figures, most frequent first */
  readonly namesDetails = (query: Query<'GET /events/names/details'> = {}, options: CallOptions = {}): Promise<Result<'GET /events/names/details'>> =>
    this.call('GET /events/names/details', { query }, options)

  /** Iterates over all items of `namesDetails`, page by page. */
  readonly allNamesDetails = (query: Omit<Query<'GET /events/names/details'>, 'page'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /events/names/details'>['data'][number]> =>
    iterateByPage(
      (pageSize, page) => this.namesDetails({ ...query, pageSize, page }, options),
      (page) => page.data,
      { max, pageSize: query.pageSize },
    )

  /** Count events by name. Counts whole UTC days, including those of `startDate` and `endDate`. */
  readonly stats = (query: Query<'GET /events/stats'> = {}, options: CallOptions = {}): Promise<Result<'GET /events/stats'>> =>
    this.call('GET /events/stats', { query }, options)

  /** Iterates over all items of `stats`. */
  readonly allStats = (query: Query<'GET /events/stats'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /events/stats'>[number]> =>
    iterateWhole(() => this.stats(query, options), { max })

  /** Track an event from a server or the dashboard. Accepts the body of `/v1/track`, or `{ name, contactId?, emailId?, data? }` to record an event without changing a contact. */
  readonly record = (body: Body<'POST /events/track'>, options: CallOptions = {}): Promise<Result<'POST /events/track'>> =>
    this.call('POST /events/track', { body }, options)

  /** Delete all events with a name. Responds when all are deleted, or after 12 seconds with the number so far; a job deletes the rest. */
  readonly delete = (eventName: string, options: CallOptions = {}): Promise<Result<'DELETE /events/{eventName}'>> =>
    this.call('DELETE /events/{eventName}', { params: { eventName } }, options)

  /** Get the usage of an event name */
  readonly usage = (eventName: string, options: CallOptions = {}): Promise<Result<'GET /events/{eventName}/usage'>> =>
    this.call('GET /events/{eventName}/usage', { params: { eventName } }, options)
}

export class FieldsApi extends Resource {
  /** List fields */
  readonly list = (options: CallOptions = {}): Promise<Result<'GET /contacts/fields'>> =>
    this.call('GET /contacts/fields', {}, options)

  /** Iterates over all items of `list`. */
  readonly all = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /contacts/fields'>['fields'][number]> =>
    iterateWhole(() => this.list(options).then(({ fields }) => fields), { max })

  /** Delete a field from all contacts */
  readonly delete = (field: string, options: CallOptions = {}): Promise<Result<'DELETE /contacts/fields/{field}'>> =>
    this.call('DELETE /contacts/fields/{field}', { params: { field } }, options)

  /** Get the usage of a contact field */
  readonly usage = (field: string, options: CallOptions = {}): Promise<Result<'GET /contacts/fields/{field}/usage'>> =>
    this.call('GET /contacts/fields/{field}/usage', { params: { field } }, options)

  /** Sample the distinct values of a field. Reads up to 100,000 contacts, the newest first, until 10,000 of them have no further value. Values have up to 1,024 characters. */
  readonly values = (field: string, query: Query<'GET /contacts/fields/{field}/values'> = {}, options: CallOptions = {}): Promise<Result<'GET /contacts/fields/{field}/values'>> =>
    this.call('GET /contacts/fields/{field}/values', { params: { field }, query }, options)
}

export class HealthApi extends Resource {
  /** Check that the process is alive */
  readonly get = (options: CallOptions = {}): Promise<Result<'GET /health'>> =>
    this.call('GET /health', {}, options)
}

export class InvitationsApi extends Resource {
  /** List pending invitations */
  readonly list = (id: string, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/invitations'>> =>
    this.call('GET /projects/{id}/invitations', { params: { id } }, options)

  /** Iterates over all items of `list`. */
  readonly all = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /projects/{id}/invitations'>[number]> =>
    iterateWhole(() => this.list(id, options), { max })

  /** Revoke an invitation */
  readonly withdraw = (id: string, invitationId: string, options: CallOptions = {}): Promise<Result<'DELETE /projects/{id}/invitations/{invitationId}'>> =>
    this.call('DELETE /projects/{id}/invitations/{invitationId}', { params: { id, invitationId } }, options)

  /** Create a link to an invitation. To pass on by other means than the email. It works once, for the invited address, until the invitation expires, and replaces the link created before. It does not verify the address. */
  readonly link = (id: string, invitationId: string, options: CallOptions = {}): Promise<Result<'POST /projects/{id}/invitations/{invitationId}/link'>> =>
    this.call('POST /projects/{id}/invitations/{invitationId}/link', { params: { id, invitationId } }, options)
}

export class JobsApi extends Resource {
  /** List jobs, newest first. Jobs are listed for 30 days. */
  readonly list = (query: Query<'GET /jobs'> = {}, options: CallOptions = {}): Promise<Result<'GET /jobs'>> =>
    this.call('GET /jobs', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /jobs'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /jobs'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.list({ ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Get a job */
  readonly get = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /jobs/{jobId}'>> =>
    this.call('GET /jobs/{jobId}', { params: { jobId } }, options)
}

export class LinkHostsApi extends Resource {
  /** Ask whether a host may get a certificate. For web servers that get certificates on demand: 200 for the link host of a verified domain whose CNAME points here, 404 for any other name. */
  readonly allowed = (query: Query<'GET /link-hosts/allowed'> = {}, options: CallOptions = {}): Promise<Result<'GET /link-hosts/allowed'>> =>
    this.call('GET /link-hosts/allowed', { query }, options)
}

export class MembersApi extends Resource {
  /** List members */
  readonly list = (id: string, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/members'>> =>
    this.call('GET /projects/{id}/members', { params: { id } }, options)

  /** Iterates over all items of `list`. */
  readonly all = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /projects/{id}/members'>[number]> =>
    iterateWhole(() => this.list(id, options), { max })

  /** Invite a member */
  readonly invite = (id: string, body: Body<'POST /projects/{id}/members'>, options: CallOptions = {}): Promise<Result<'POST /projects/{id}/members'>> =>
    this.call('POST /projects/{id}/members', { params: { id }, body }, options)

  /** Change the role of a member */
  readonly changeRole = (id: string, userId: string, body: Body<'PATCH /projects/{id}/members/{userId}'>, options: CallOptions = {}): Promise<Result<'PATCH /projects/{id}/members/{userId}'>> =>
    this.call('PATCH /projects/{id}/members/{userId}', { params: { id, userId }, body }, options)

  /** Remove a member or leave the project */
  readonly remove = (id: string, userId: string, options: CallOptions = {}): Promise<Result<'DELETE /projects/{id}/members/{userId}'>> =>
    this.call('DELETE /projects/{id}/members/{userId}', { params: { id, userId } }, options)
}

export class ProjectsApi extends Resource {
  /** List who changed what, newest first. Every change but tracked events, sent emails, and contacts and members of segments that were changed by an API key. Kept for 400 days. With `format=csv` the answer is a CSV file of all entries. */
  readonly audit = (id: string, query: Query<'GET /projects/{id}/audit'> = {}, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/audit'>> =>
    this.call('GET /projects/{id}/audit', { params: { id }, query }, options)

  /** Iterates over all items of `audit`, page by page. */
  readonly allAudit = (id: string, query: Omit<Query<'GET /projects/{id}/audit'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /projects/{id}/audit'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.audit(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Apply the brand to saved designs. Starts a job that renders the designs of templates and draft campaigns again, in the brand as it is now. A template gets a new version; campaigns that are scheduled or were sent never change. With `dryRun` the job changes nothing, and its result (`templates`, `campaigns`, `changedTemplates`, `changedCampaigns`) says what it would change. */
  readonly applyBrand = (id: string, body: Body<'POST /projects/{id}/brand/apply'> = {}, options: CallOptions = {}): Promise<Result<'POST /projects/{id}/brand/apply'>> =>
    this.call('POST /projects/{id}/brand/apply', { params: { id }, body }, options)

  /** Get when the API keys were last used */
  readonly keyUsage = (id: string, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/key-usage'>> =>
    this.call('GET /projects/{id}/key-usage', { params: { id } }, options)

  /** List API keys. The pair of the project, then the others, newest first. */
  readonly listKeys = (id: string, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/keys'>> =>
    this.call('GET /projects/{id}/keys', { params: { id } }, options)

  /** Iterates over all items of `listKeys`. */
  readonly allKeys = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /projects/{id}/keys'>[number]> =>
    iterateWhole(() => this.listKeys(id, options), { max })

  /** Create an API key. The key itself is only in this answer. At most 50 of a project. */
  readonly createKey = (id: string, body: Body<'POST /projects/{id}/keys'>, options: CallOptions = {}): Promise<Result<'POST /projects/{id}/keys'>> =>
    this.call('POST /projects/{id}/keys', { params: { id }, body }, options)

  /** Update an API key. Holds for the next request, on every node. */
  readonly updateKey = (id: string, keyId: string, body: Body<'PATCH /projects/{id}/keys/{keyId}'>, options: CallOptions = {}): Promise<Result<'PATCH /projects/{id}/keys/{keyId}'>> =>
    this.call('PATCH /projects/{id}/keys/{keyId}', { params: { id, keyId }, body }, options)

  /** Revoke an API key. When this responds, the key no longer works on any node. */
  readonly deleteKey = (id: string, keyId: string, options: CallOptions = {}): Promise<Result<'DELETE /projects/{id}/keys/{keyId}'>> =>
    this.call('DELETE /projects/{id}/keys/{keyId}', { params: { id, keyId } }, options)

  /** Rotate an API key. Keeps its id and its settings. The key before works for `graceHours` more, earlier ones stop at once. */
  readonly rotateKey = (id: string, keyId: string, body: Body<'POST /projects/{id}/keys/{keyId}/rotate'> = {}, options: CallOptions = {}): Promise<Result<'POST /projects/{id}/keys/{keyId}/rotate'>> =>
    this.call('POST /projects/{id}/keys/{keyId}/rotate', { params: { id, keyId }, body }, options)

  /** Get the reputation of a project. Bounce and complaint rates, their levels, and when the project was disabled because of them. */
  readonly security = (id: string, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/security'>> =>
    this.call('GET /projects/{id}/security', { params: { id } }, options)

  /** Acknowledge bounces and complaints. Rates count from now on, and a project that was disabled because of them is enabled. An owner may do this once in 30 days, an operator at any time. */
  readonly acknowledgeSecurity = (id: string, options: CallOptions = {}): Promise<Result<'POST /projects/{id}/security/acknowledge'>> =>
    this.call('POST /projects/{id}/security/acknowledge', { params: { id } }, options)

  /** Get the setup state of a project */
  readonly setupState = (id: string, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/setup-state'>> =>
    this.call('GET /projects/{id}/setup-state', { params: { id } }, options)

  /** Get the secret that signs webhooks */
  readonly webhookSecret = (id: string, options: CallOptions = {}): Promise<Result<'GET /projects/{id}/webhook-secret'>> =>
    this.call('GET /projects/{id}/webhook-secret', { params: { id } }, options)

  /** Rotate the secret that signs webhooks. For a day requests are signed with both secrets. */
  readonly rotateWebhookSecret = (id: string, options: CallOptions = {}): Promise<Result<'POST /projects/{id}/webhook-secret'>> =>
    this.call('POST /projects/{id}/webhook-secret', { params: { id } }, options)

  /** List your projects */
  readonly list = (options: CallOptions = {}): Promise<Result<'GET /users/@me/projects'>> =>
    this.call('GET /users/@me/projects', {}, options)

  /** Iterates over all items of `list`. */
  readonly all = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /users/@me/projects'>[number]> =>
    iterateWhole(() => this.list(options), { max })

  /** Create a project */
  readonly create = (body: Body<'POST /users/@me/projects'>, options: CallOptions = {}): Promise<Result<'POST /users/@me/projects'>> =>
    this.call('POST /users/@me/projects', { body }, options)

  /** Update a project */
  readonly update = (id: string, body: Body<'PATCH /users/@me/projects/{id}'>, options: CallOptions = {}): Promise<Result<'PATCH /users/@me/projects/{id}'>> =>
    this.call('PATCH /users/@me/projects/{id}', { params: { id }, body }, options)

  /** Delete a project */
  readonly delete = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /users/@me/projects/{id}'>> =>
    this.call('DELETE /users/@me/projects/{id}', { params: { id } }, options)

  /** Get the consumption of the current period. The period is that of the subscription, else the calendar month in UTC. */
  readonly billingConsumption = (id: string, options: CallOptions = {}): Promise<Result<'GET /users/@me/projects/{id}/billing-consumption'>> =>
    this.call('GET /users/@me/projects/{id}/billing-consumption', { params: { id } }, options)

  /** List invoices */
  readonly billingInvoices = (id: string, options: CallOptions = {}): Promise<Result<'GET /users/@me/projects/{id}/billing-invoices'>> =>
    this.call('GET /users/@me/projects/{id}/billing-invoices', { params: { id } }, options)

  /** Get the billing limits and their usage. Also without a billing provider. */
  readonly billingLimits = (id: string, options: CallOptions = {}): Promise<Result<'GET /users/@me/projects/{id}/billing-limits'>> =>
    this.call('GET /users/@me/projects/{id}/billing-limits', { params: { id } }, options)

  /** Change the billing limits. Emails beyond a limit are refused with 402 `BILLING_LIMIT_EXCEEDED`; campaigns pause, workflows fail the step, and received emails are refused with 452, until the limit is raised or the next period begins. */
  readonly updateBillingLimits = (id: string, body: Body<'PUT /users/@me/projects/{id}/billing-limits'>, options: CallOptions = {}): Promise<Result<'PUT /users/@me/projects/{id}/billing-limits'>> =>
    this.call('PUT /users/@me/projects/{id}/billing-limits', { params: { id }, body }, options)

  /** Open the billing portal. Responds with its page at the billing provider. 404 while the project has no customer there. */
  readonly billingPortal = (id: string, options: CallOptions = {}): Promise<Result<'POST /users/@me/projects/{id}/billing-portal'>> =>
    this.call('POST /users/@me/projects/{id}/billing-portal', { params: { id } }, options)

  /** Start a subscription. Responds with the page of the billing provider to go to. */
  readonly checkout = (id: string, options: CallOptions = {}): Promise<Result<'POST /users/@me/projects/{id}/checkout'>> =>
    this.call('POST /users/@me/projects/{id}/checkout', { params: { id } }, options)

  /** Regenerate both API keys. When this responds, the old keys no longer work on any node. */
  readonly regenerateKeys = (id: string, options: CallOptions = {}): Promise<Result<'POST /users/@me/projects/{id}/regenerate-keys'>> =>
    this.call('POST /users/@me/projects/{id}/regenerate-keys', { params: { id } }, options)

  /** Delete all data of a project. Irreversible. Keeps domains, members, keys and suppressions. Running jobs stop and leave nothing behind. */
  readonly reset = (id: string, options: CallOptions = {}): Promise<Result<'POST /users/@me/projects/{id}/reset'>> =>
    this.call('POST /users/@me/projects/{id}/reset', { params: { id } }, options)
}

export class ReadyApi extends Resource {
  /** Check that the node is ready for traffic */
  readonly get = (options: CallOptions = {}): Promise<Result<'GET /ready'>> =>
    this.call('GET /ready', {}, options)
}

export class SandboxApi extends Resource {
  /** List sandbox messages, newest first */
  readonly list = (query: Query<'GET /sandbox/messages'> = {}, options: CallOptions = {}): Promise<Result<'GET /sandbox/messages'>> =>
    this.call('GET /sandbox/messages', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /sandbox/messages'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /sandbox/messages'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.list({ ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Get a sandbox message with its source */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /sandbox/messages/{id}'>> =>
    this.call('GET /sandbox/messages/{id}', { params: { id } }, options)

  /** Get the parts of a sandbox message. The HTML is that of the message, without its open pixel and with the original links. */
  readonly preview = (id: string, options: CallOptions = {}): Promise<Result<'GET /sandbox/messages/{id}/preview'>> =>
    this.call('GET /sandbox/messages/{id}/preview', { params: { id } }, options)
}

export class SegmentsApi extends Resource {
  /** List segments. All of them, newest first. */
  readonly list = (options: CallOptions = {}): Promise<Result<'GET /segments'>> =>
    this.call('GET /segments', {}, options)

  /** Iterates over all items of `list`. */
  readonly all = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /segments'>[number]> =>
    iterateWhole(() => this.list(options), { max })

  /** Create a segment. A dynamic segment has the contacts that match its condition; a static one those that were added to it. */
  readonly create = (body: Body<'POST /segments'>, options: CallOptions = {}): Promise<Result<'POST /segments'>> =>
    this.call('POST /segments', { body }, options)

  /** Explain whether a contact matches a condition. Evaluates each filter of the condition for one contact, with the actual values. Stores nothing. */
  readonly explainCondition = (body: Body<'POST /segments/explain'>, options: CallOptions = {}): Promise<Result<'POST /segments/explain'>> =>
    this.call('POST /segments/explain', { body }, options)

  /** Preview a condition. Counts the contacts that match a condition, and those that remain after each filter. Stores nothing. */
  readonly preview = (body: Body<'POST /segments/preview'>, options: CallOptions = {}): Promise<Result<'POST /segments/preview'>> =>
    this.call('POST /segments/preview', { body }, options)

  /** Count the uses of all segments. For lists: in how many segments, campaigns and workflows each is used, and its entries and exits of the last seven days. */
  readonly usageCounts = (options: CallOptions = {}): Promise<Result<'GET /segments/usage'>> =>
    this.call('GET /segments/usage', {}, options)

  /** Iterates over all items of `usageCounts`. */
  readonly allUsageCounts = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /segments/usage'>['data'][number]> =>
    iterateWhole(() => this.usageCounts(options).then(({ data }) => data), { max })

  /** Get a segment */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /segments/{id}'>> =>
    this.call('GET /segments/{id}', { params: { id } }, options)

  /** Update a segment */
  readonly update = (id: string, body: Body<'PATCH /segments/{id}'>, options: RevisionOptions = {}): Promise<Result<'PATCH /segments/{id}'>> =>
    this.call('PATCH /segments/{id}', { params: { id }, body }, options)

  /** Delete a segment. Refused while it is in use; `details.usedBy` names the users. */
  readonly delete = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /segments/{id}'>> =>
    this.call('DELETE /segments/{id}', { params: { id } }, options)

  /** Recompute the members of a tracked segment. Records an entry or exit event for each difference. Waits up to 20 seconds; a longer computation is answered with 202 and goes on. Two requests at the same time share one computation. */
  readonly compute = (id: string, options: CallOptions = {}): Promise<Result<'POST /segments/{id}/compute'>> =>
    this.call('POST /segments/{id}/compute', { params: { id } }, options)

  /** List the members of a segment. Newest contacts first. A dynamic segment is evaluated now. Take `page`, or continue with the `cursor` of a page. */
  readonly contacts = (id: string, query: Query<'GET /segments/{id}/contacts'> = {}, options: CallOptions = {}): Promise<Result<'GET /segments/{id}/contacts'>> =>
    this.call('GET /segments/{id}/contacts', { params: { id }, query }, options)

  /** Iterates over all items of `contacts`, page by page. */
  readonly allContacts = (id: string, query: Omit<Query<'GET /segments/{id}/contacts'>, 'cursor' | 'page'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /segments/{id}/contacts'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.contacts(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Duplicate a segment. A static segment is copied with its members. The copy is not tracked. */
  readonly duplicate = (id: string, options: CallOptions = {}): Promise<Result<'POST /segments/{id}/duplicate'>> =>
    this.call('POST /segments/{id}/duplicate', { params: { id } }, options)

  /** Explain why a contact is in a segment, or not */
  readonly explain = (id: string, contactId: string, options: CallOptions = {}): Promise<Result<'GET /segments/{id}/explain/{contactId}'>> =>
    this.call('GET /segments/{id}/explain/{contactId}', { params: { id, contactId } }, options)

  /** List entries and exits of a segment. Newest first. They are recorded while the segment is tracked. */
  readonly history = (id: string, query: Query<'GET /segments/{id}/history'> = {}, options: CallOptions = {}): Promise<Result<'GET /segments/{id}/history'>> =>
    this.call('GET /segments/{id}/history', { params: { id }, query }, options)

  /** Iterates over all items of `history`, page by page. */
  readonly allHistory = (id: string, query: Omit<Query<'GET /segments/{id}/history'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /segments/{id}/history'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.history(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Add contacts to a static segment */
  readonly addMembers = (id: string, body: Body<'POST /segments/{id}/members'>, options: CallOptions = {}): Promise<Result<'POST /segments/{id}/members'>> =>
    this.call('POST /segments/{id}/members', { params: { id }, body }, options)

  /** Remove contacts from a static segment. Unknown addresses are ignored. */
  readonly removeMembers = (id: string, body: Body<'DELETE /segments/{id}/members'>, options: CallOptions = {}): Promise<Result<'DELETE /segments/{id}/members'>> =>
    this.call('DELETE /segments/{id}/members', { params: { id }, body }, options)

  /** Count the members of a segment. Refreshes `memberCount`. Changes no membership and records no event. */
  readonly refresh = (id: string, options: CallOptions = {}): Promise<Result<'POST /segments/{id}/refresh'>> =>
    this.call('POST /segments/{id}/refresh', { params: { id } }, options)

  /** Get the usage of a segment */
  readonly usage = (id: string, options: CallOptions = {}): Promise<Result<'GET /segments/{id}/usage'>> =>
    this.call('GET /segments/{id}/usage', { params: { id } }, options)
}

export class SuppressionsApi extends Resource {
  /** List suppressions, newest first */
  readonly list = (query: Query<'GET /suppressions'> = {}, options: CallOptions = {}): Promise<Result<'GET /suppressions'>> =>
    this.call('GET /suppressions', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /suppressions'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /suppressions'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.list({ ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Suppress an address or domain. 201 when it is new. 200 when it was suppressed before; it keeps its reason. */
  readonly add = (body: Body<'POST /suppressions'>, options: CallOptions = {}): Promise<Result<'POST /suppressions'>> =>
    this.call('POST /suppressions', { body }, options)

  /** Suppress many addresses and domains. Entries that are neither an address nor a domain are returned; the others are suppressed. */
  readonly addMany = (body: Body<'POST /suppressions/bulk'>, options: CallOptions = {}): Promise<Result<'POST /suppressions/bulk'>> =>
    this.call('POST /suppressions/bulk', { body }, options)

  /** Check whether an address would be sent to. Names the rules that keep an email to this address from being sent. Changes nothing. */
  readonly check = (body: Body<'POST /suppressions/check'>, options: CallOptions = {}): Promise<Result<'POST /suppressions/check'>> =>
    this.call('POST /suppressions/check', { body }, options)

  /** Download all suppressions as CSV. At once, without a job. */
  readonly download = (options: CallOptions = {}): Promise<Result<'GET /suppressions/export'>> =>
    this.call('GET /suppressions/export', {}, options)

  /** Export suppressions as CSV. Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept. */
  readonly export = (body: Body<'POST /suppressions/export'> = {}, options: CallOptions = {}): Promise<Result<'POST /suppressions/export'>> =>
    this.call('POST /suppressions/export', { body }, options)

  /** Get the status of an export of suppressions */
  readonly exportStatus = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /suppressions/export/{jobId}'>> =>
    this.call('GET /suppressions/export/{jobId}', { params: { jobId } }, options)

  /** Download the file of an export of suppressions */
  readonly exportFile = (jobId: string, options: CallOptions = {}): Promise<Result<'GET /suppressions/export/{jobId}/file'>> =>
    this.call('GET /suppressions/export/{jobId}/file', { params: { jobId } }, options)

  /** Remove a suppression. By address or domain. A contact that the suppression unsubscribed stays unsubscribed. */
  readonly remove = (address: string, options: CallOptions = {}): Promise<Result<'DELETE /suppressions/{address}'>> =>
    this.call('DELETE /suppressions/{address}', { params: { address } }, options)
}

export class SuspensionsApi extends Resource {
  /** Lift a suspension. By the id of the suspended project, also if it was deleted: the project is enabled, its domains can be added again, and further projects of its owner that were disabled because of it are enabled. Only for operators. */
  readonly lift = (id: string, options: CallOptions = {}): Promise<Result<'POST /suspensions/{id}/lift'>> =>
    this.call('POST /suspensions/{id}/lift', { params: { id } }, options)
}

export class TemplatesApi extends Resource {
  /** List templates */
  readonly list = (query: Query<'GET /templates'> = {}, options: CallOptions = {}): Promise<Result<'GET /templates'>> =>
    this.call('GET /templates', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /templates'>, 'page'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /templates'>['data'][number]> =>
    iterateByPage(
      (pageSize, page) => this.list({ ...query, pageSize, page }, options),
      (page) => page.data,
      { max, pageSize: query.pageSize },
    )

  /** Create a template */
  readonly create = (body: Body<'POST /templates'>, options: CallOptions = {}): Promise<Result<'POST /templates'>> =>
    this.call('POST /templates', { body }, options)

  /** Lint a subject and body */
  readonly lintContent = (body: Body<'POST /templates/lint'>, options: CallOptions = {}): Promise<Result<'POST /templates/lint'>> =>
    this.call('POST /templates/lint', { body }, options)

  /** Preview unsaved content. Renders a subject and a body or design for a contact or a sample. Returns the email as it would be sent, with footer and unsubscribe links, but without open and click tracking. Sends nothing and changes nothing. `data`, `email`, `locale` and `subscribed` override the values of the contact. */
  readonly previewContent = (body: Body<'POST /templates/preview'>, options: CallOptions = {}): Promise<Result<'POST /templates/preview'>> =>
    this.call('POST /templates/preview', { body }, options)

  /** Count the uses of several templates. For lists. Ids that the project does not have are left out. */
  readonly usageCounts = (query: Query<'GET /templates/usage'> = {}, options: CallOptions = {}): Promise<Result<'GET /templates/usage'>> =>
    this.call('GET /templates/usage', { query }, options)

  /** Iterates over all items of `usageCounts`. */
  readonly allUsageCounts = (query: Query<'GET /templates/usage'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /templates/usage'>['data'][number]> =>
    iterateWhole(() => this.usageCounts(query, options).then(({ data }) => data), { max })

  /** Get a template */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /templates/{id}'>> =>
    this.call('GET /templates/{id}', { params: { id } }, options)

  /** Update a template */
  readonly update = (id: string, body: Body<'PATCH /templates/{id}'>, options: RevisionOptions = {}): Promise<Result<'PATCH /templates/{id}'>> =>
    this.call('PATCH /templates/{id}', { params: { id }, body }, options)

  /** Delete a template. Refused while a scheduled or running campaign uses it; `details.usedBy` names the campaigns. */
  readonly delete = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /templates/{id}'>> =>
    this.call('DELETE /templates/{id}', { params: { id } }, options)

  /** Duplicate a template */
  readonly duplicate = (id: string, options: CallOptions = {}): Promise<Result<'POST /templates/{id}/duplicate'>> =>
    this.call('POST /templates/{id}/duplicate', { params: { id } }, options)

  /** Lint a template */
  readonly lint = (id: string, options: CallOptions = {}): Promise<Result<'POST /templates/{id}/lint'>> =>
    this.call('POST /templates/{id}/lint', { params: { id } }, options)

  /** Preview a template. Renders the template for a contact or a sample. Returns the email as it would be sent, with footer and unsubscribe links, but without open and click tracking. Sends nothing and changes nothing. `data`, `email`, `locale` and `subscribed` override the values of the contact. */
  readonly preview = (id: string, body: Body<'POST /templates/{id}/preview'> = {}, options: CallOptions = {}): Promise<Result<'POST /templates/{id}/preview'>> =>
    this.call('POST /templates/{id}/preview', { params: { id }, body }, options)

  /** Send a test email of a template. Sends the template to one address, with `[TEST]` in its subject. Rendered for the contact with this address, if there is one; with `contactId`, with the data of that contact. Ignores subscriptions, not suppressions. The email has `test: true`, is not tracked, and is in no counts. At most 60 an hour and project. */
  readonly test = (id: string, body: Body<'POST /templates/{id}/test'>, options: CallOptions = {}): Promise<Result<'POST /templates/{id}/test'>> =>
    this.call('POST /templates/{id}/test', { params: { id }, body }, options)

  /** Get the usage of a template */
  readonly usage = (id: string, options: CallOptions = {}): Promise<Result<'GET /templates/{id}/usage'>> =>
    this.call('GET /templates/{id}/usage', { params: { id } }, options)

  /** List the versions of a template, newest first. The newest 50 that came before the current one are kept, up to 20 MB. */
  readonly listVersions = (id: string, options: CallOptions = {}): Promise<Result<'GET /templates/{id}/versions'>> =>
    this.call('GET /templates/{id}/versions', { params: { id } }, options)

  /** Iterates over all items of `listVersions`. */
  readonly allVersions = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /templates/{id}/versions'>['data'][number]> =>
    iterateWhole(() => this.listVersions(id, options).then(({ data }) => data), { max })

  /** Get a version of a template */
  readonly getVersion = (id: string, version: string, options: CallOptions = {}): Promise<Result<'GET /templates/{id}/versions/{version}'>> =>
    this.call('GET /templates/{id}/versions/{version}', { params: { id, version } }, options)

  /** Restore a version of a template. Saves the content of the version again, as a new version. */
  readonly restoreVersion = (id: string, version: string, options: RevisionOptions = {}): Promise<Result<'POST /templates/{id}/versions/{version}/restore'>> =>
    this.call('POST /templates/{id}/versions/{version}/restore', { params: { id, version } }, options)
}

export class UploadsApi extends Resource {
  /** Upload an image. JPEG, PNG, GIF or WebP of at most 10 MB. The image is re-encoded, which removes its metadata and any hidden content. */
  readonly image = (file: Blob, options: CallOptions = {}): Promise<Result<'POST /uploads/image'>> =>
    this.call('POST /uploads/image', { body: { image: file } }, options)

  /** Get an uploaded image */
  readonly get = (key: string, options: CallOptions = {}): Promise<Result<'GET /uploads/{key}'>> =>
    this.call('GET /uploads/{key}', { params: { key } }, options)
}

export class UsersApi extends Resource {
  /** Get the current user */
  readonly me = (options: CallOptions = {}): Promise<Result<'GET /users/@me'>> =>
    this.call('GET /users/@me', {}, options)

  /** List your sessions */
  readonly listSessions = (options: CallOptions = {}): Promise<Result<'GET /users/@me/sessions'>> =>
    this.call('GET /users/@me/sessions', {}, options)

  /** Iterates over all items of `listSessions`. */
  readonly allSessions = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /users/@me/sessions'>[number]> =>
    iterateWhole(() => this.listSessions(options), { max })

  /** End all your other sessions */
  readonly endOtherSessions = (options: CallOptions = {}): Promise<Result<'DELETE /users/@me/sessions'>> =>
    this.call('DELETE /users/@me/sessions', {}, options)

  /** End one of your sessions */
  readonly endSession = (sessionId: string, options: CallOptions = {}): Promise<Result<'DELETE /users/@me/sessions/{sessionId}'>> =>
    this.call('DELETE /users/@me/sessions/{sessionId}', { params: { sessionId } }, options)
}

export class WebhookEndpointsApi extends Resource {
  /** List webhook endpoints */
  readonly list = (options: CallOptions = {}): Promise<Result<'GET /webhook-endpoints'>> =>
    this.call('GET /webhook-endpoints', {}, options)

  /** Iterates over all items of `list`. */
  readonly all = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /webhook-endpoints'>[number]> =>
    iterateWhole(() => this.list(options), { max })

  /** Create a webhook endpoint. Sterna tells it what happens in the project, by POST requests signed as Standard Webhooks describes. At most 20. */
  readonly create = (body: Body<'POST /webhook-endpoints'>, options: CallOptions = {}): Promise<Result<'POST /webhook-endpoints'>> =>
    this.call('POST /webhook-endpoints', { body }, options)

  /** Get a webhook endpoint */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /webhook-endpoints/{id}'>> =>
    this.call('GET /webhook-endpoints/{id}', { params: { id } }, options)

  /** Change a webhook endpoint. Deliveries that waited when a request disabled it go on once it is enabled. */
  readonly update = (id: string, body: Body<'PATCH /webhook-endpoints/{id}'>, options: CallOptions = {}): Promise<Result<'PATCH /webhook-endpoints/{id}'>> =>
    this.call('PATCH /webhook-endpoints/{id}', { params: { id }, body }, options)

  /** Delete a webhook endpoint */
  readonly delete = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /webhook-endpoints/{id}'>> =>
    this.call('DELETE /webhook-endpoints/{id}', { params: { id } }, options)

  /** List deliveries of a webhook endpoint. The newest first. Those that failed are kept for 30 days, those that succeeded for 3. */
  readonly deliveries = (id: string, query: Query<'GET /webhook-endpoints/{id}/deliveries'> = {}, options: CallOptions = {}): Promise<Result<'GET /webhook-endpoints/{id}/deliveries'>> =>
    this.call('GET /webhook-endpoints/{id}/deliveries', { params: { id }, query }, options)

  /** Iterates over all items of `deliveries`, page by page. */
  readonly allDeliveries = (id: string, query: Omit<Query<'GET /webhook-endpoints/{id}/deliveries'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /webhook-endpoints/{id}/deliveries'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.deliveries(id, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Make a delivery again. With the same `webhook-id` and payload, and with all attempts of a new delivery. */
  readonly replayDelivery = (id: string, deliveryId: string, options: CallOptions = {}): Promise<Result<'POST /webhook-endpoints/{id}/deliveries/{deliveryId}/replay'>> =>
    this.call('POST /webhook-endpoints/{id}/deliveries/{deliveryId}/replay', { params: { id, deliveryId } }, options)

  /** Make the deliveries of a period again */
  readonly replay = (id: string, body: Body<'POST /webhook-endpoints/{id}/replay'>, options: CallOptions = {}): Promise<Result<'POST /webhook-endpoints/{id}/replay'>> =>
    this.call('POST /webhook-endpoints/{id}/replay', { params: { id }, body }, options)

  /** Rotate the secret of a webhook endpoint. For `graceHours` requests are signed with both secrets. */
  readonly rotateSecret = (id: string, body: Body<'POST /webhook-endpoints/{id}/rotate-secret'> = {}, options: CallOptions = {}): Promise<Result<'POST /webhook-endpoints/{id}/rotate-secret'>> =>
    this.call('POST /webhook-endpoints/{id}/rotate-secret', { params: { id }, body }, options)

  /** Send a test request to a webhook endpoint. A signed request of the type `test`, now and once. It is not a delivery. 409 while an operator has held sending. */
  readonly test = (id: string, options: CallOptions = {}): Promise<Result<'POST /webhook-endpoints/{id}/test'>> =>
    this.call('POST /webhook-endpoints/{id}/test', { params: { id } }, options)
}

export class WorkflowsApi extends Resource {
  /** List workflows */
  readonly list = (query: Query<'GET /workflows'> = {}, options: CallOptions = {}): Promise<Result<'GET /workflows'>> =>
    this.call('GET /workflows', { query }, options)

  /** Iterates over all items of `list`, page by page. */
  readonly all = (query: Omit<Query<'GET /workflows'>, 'page'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /workflows'>['data'][number]> =>
    iterateByPage(
      (pageSize, page) => this.list({ ...query, pageSize, page }, options),
      (page) => page.data,
      { max, pageSize: query.pageSize },
    )

  /** Create a workflow. Starts as `EVENT` and disabled, with a TRIGGER step. */
  readonly create = (body: Body<'POST /workflows'>, options: CallOptions = {}): Promise<Result<'POST /workflows'>> =>
    this.call('POST /workflows', { body }, options)

  /** List fields for conditions. Fields of contacts, and with `eventName` those of the last events of this name. */
  readonly fields = (query: Query<'GET /workflows/fields'> = {}, options: CallOptions = {}): Promise<Result<'GET /workflows/fields'>> =>
    this.call('GET /workflows/fields', { query }, options)

  /** List recipes for workflows. Complete workflows with their emails, to begin with and to change. */
  readonly listRecipes = (options: CallOptions = {}): Promise<Result<'GET /workflows/recipes'>> =>
    this.call('GET /workflows/recipes', {}, options)

  /** Iterates over all items of `listRecipes`. */
  readonly allRecipes = ({ max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /workflows/recipes'>['data'][number]> =>
    iterateWhole(() => this.listRecipes(options).then(({ data }) => data), { max })

  /** Create a workflow from a recipe. Makes its templates, in the look of the project, a segment if it runs by a schedule, and the workflow, which is disabled. The sender of the templates is that of the template changed last, else one of the first verified domain. */
  readonly createFromRecipe = (key: string, body: Body<'POST /workflows/recipes/{key}'> = {}, options: CallOptions = {}): Promise<Result<'POST /workflows/recipes/{key}'>> =>
    this.call('POST /workflows/recipes/{key}', { params: { key }, body }, options)

  /** Get a workflow with its steps and transitions. To a key without the scope `workflows`, the values of headers of WEBHOOK steps and the query of their address read `•••`. */
  readonly get = (id: string, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}'>> =>
    this.call('GET /workflows/{id}', { params: { id } }, options)

  /** Update a workflow. Disabling keeps contacts from entering; executions that run go on. */
  readonly update = (id: string, body: Body<'PATCH /workflows/{id}'>, options: RevisionOptions = {}): Promise<Result<'PATCH /workflows/{id}'>> =>
    this.call('PATCH /workflows/{id}', { params: { id }, body }, options)

  /** Delete a workflow. Refused while it has active executions. Its executions are deleted with it, and the templates that were written in it unless something else uses them; their emails stay. */
  readonly delete = (id: string, options: CallOptions = {}): Promise<Result<'DELETE /workflows/{id}'>> =>
    this.call('DELETE /workflows/{id}', { params: { id } }, options)

  /** Duplicate a workflow. The copy is disabled, and has copies of the templates that were written in the original. */
  readonly duplicate = (id: string, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/duplicate'>> =>
    this.call('POST /workflows/{id}/duplicate', { params: { id } }, options)

  /** List executions. Newest first. At most 10,000 are counted and listed: filters find the others. */
  readonly listExecutions = (id: string, query: Query<'GET /workflows/{id}/executions'> = {}, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}/executions'>> =>
    this.call('GET /workflows/{id}/executions', { params: { id }, query }, options)

  /** Iterates over all items of `listExecutions`, page by page. */
  readonly allExecutions = (id: string, query: Omit<Query<'GET /workflows/{id}/executions'>, 'page'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /workflows/{id}/executions'>['data'][number]> =>
    iterateByPage(
      (pageSize, page) => this.listExecutions(id, { ...query, pageSize, page }, options),
      (page) => page.data,
      { max, pageSize: query.pageSize },
    )

  /** Start an execution for a contact. Refused with 409 while the workflow is disabled, and for a contact that may not enter. */
  readonly startExecution = (id: string, body: Body<'POST /workflows/{id}/executions'>, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/executions'>> =>
    this.call('POST /workflows/{id}/executions', { params: { id }, body }, options)

  /** Cancel all active executions. Or those that match the filters. */
  readonly cancelAllExecutions = (id: string, query: Query<'POST /workflows/{id}/executions/cancel-all'> = {}, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/executions/cancel-all'>> =>
    this.call('POST /workflows/{id}/executions/cancel-all', { params: { id }, query }, options)

  /** Get an execution with its steps. To a key without the scope `workflows`, the values of headers of WEBHOOK steps and the query of their address read `•••`. */
  readonly getExecution = (id: string, executionId: string, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}/executions/{executionId}'>> =>
    this.call('GET /workflows/{id}/executions/{executionId}', { params: { id, executionId } }, options)

  /** Cancel an execution. Refused with 409 if it has ended. An email that is already queued is sent. */
  readonly cancelExecution = (id: string, executionId: string, options: CallOptions = {}): Promise<Result<'DELETE /workflows/{id}/executions/{executionId}'>> =>
    this.call('DELETE /workflows/{id}/executions/{executionId}', { params: { id, executionId } }, options)

  /** Explain why a contact is in a workflow, or not */
  readonly explain = (id: string, contactId: string, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}/explain/{contactId}'>> =>
    this.call('GET /workflows/{id}/explain/{contactId}', { params: { id, contactId } }, options)

  /** Replace all steps and transitions. At once: no execution starts with a part of the change. New ids may be chosen by the caller. */
  readonly updateGraph = (id: string, body: Body<'PUT /workflows/{id}/graph'>, options: RevisionOptions = {}): Promise<Result<'PUT /workflows/{id}/graph'>> =>
    this.call('PUT /workflows/{id}/graph', { params: { id }, body }, options)

  /** Simulate a workflow for a contact. Shows the path with times, rendered subjects and webhook requests. Sends and stores nothing. Waits end by their timeout, unless `answers` say otherwise. */
  readonly simulate = (id: string, body: Body<'POST /workflows/{id}/simulate'> = {}, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/simulate'>> =>
    this.call('POST /workflows/{id}/simulate', { params: { id }, body }, options)

  /** Get the figures of each step and transition */
  readonly stats = (id: string, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}/stats'>> =>
    this.call('GET /workflows/{id}/stats', { params: { id } }, options)

  /** Add a step */
  readonly createStep = (id: string, body: Body<'POST /workflows/{id}/steps'>, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/steps'>> =>
    this.call('POST /workflows/{id}/steps', { params: { id }, body }, options)

  /** Update a step. Executions that run keep the step as it was when they started. */
  readonly updateStep = (id: string, stepId: string, body: Body<'PATCH /workflows/{id}/steps/{stepId}'>, options: RevisionOptions = {}): Promise<Result<'PATCH /workflows/{id}/steps/{stepId}'>> =>
    this.call('PATCH /workflows/{id}/steps/{stepId}', { params: { id, stepId }, body }, options)

  /** Delete a step. With its transitions. With `splice=true` transitions to it lead to the step after it instead. */
  readonly deleteStep = (id: string, stepId: string, query: Query<'DELETE /workflows/{id}/steps/{stepId}'> = {}, options: CallOptions = {}): Promise<Result<'DELETE /workflows/{id}/steps/{stepId}'>> =>
    this.call('DELETE /workflows/{id}/steps/{stepId}', { params: { id, stepId }, query }, options)

  /** List the visits of a step. Newest first. Those of one outcome are as many as the figure of that name, without `outcome` as many as `entered`. */
  readonly stepVisits = (id: string, stepId: string, query: Query<'GET /workflows/{id}/steps/{stepId}/visits'> = {}, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}/steps/{stepId}/visits'>> =>
    this.call('GET /workflows/{id}/steps/{stepId}/visits', { params: { id, stepId }, query }, options)

  /** Iterates over all items of `stepVisits`, page by page. */
  readonly allStepVisits = (id: string, stepId: string, query: Omit<Query<'GET /workflows/{id}/steps/{stepId}/visits'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /workflows/{id}/steps/{stepId}/visits'>['data'][number]> =>
    iterateByCursor(
      (limit, cursor) => this.stepVisits(id, stepId, { ...query, limit, cursor }, options),
      (page) => page.data,
      { max, pageSize: query.limit },
    )

  /** Add a transition */
  readonly createTransition = (id: string, body: Body<'POST /workflows/{id}/transitions'>, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/transitions'>> =>
    this.call('POST /workflows/{id}/transitions', { params: { id }, body }, options)

  /** Delete a transition */
  readonly deleteTransition = (id: string, transitionId: string, options: CallOptions = {}): Promise<Result<'DELETE /workflows/{id}/transitions/{transitionId}'>> =>
    this.call('DELETE /workflows/{id}/transitions/{transitionId}', { params: { id, transitionId } }, options)

  /** List the versions of a workflow. Newest first. The last 50 are kept, and those that executions follow. */
  readonly listVersions = (id: string, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}/versions'>> =>
    this.call('GET /workflows/{id}/versions', { params: { id } }, options)

  /** Iterates over all items of `listVersions`. */
  readonly allVersions = (id: string, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /workflows/{id}/versions'>['data'][number]> =>
    iterateWhole(() => this.listVersions(id, options).then(({ data }) => data), { max })

  /** Get the steps of a version. To restore it, save its steps and transitions with `PUT /workflows/{id}/graph`. To a key without the scope `workflows`, the values of headers of WEBHOOK steps and the query of their address read `•••`. */
  readonly getVersion = (id: string, version: string, options: CallOptions = {}): Promise<Result<'GET /workflows/{id}/versions/{version}'>> =>
    this.call('GET /workflows/{id}/versions/{version}', { params: { id, version } }, options)

  /** Show the request of a webhook. As it would be made for this contact and event, without the signature. Calls nothing. */
  readonly previewWebhook = (id: string, body: Body<'POST /workflows/{id}/webhook-preview'>, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/webhook-preview'>> =>
    this.call('POST /workflows/{id}/webhook-preview', { params: { id }, body }, options)

  /** Call a webhook. Makes the request once, signed, to the same addresses that WEBHOOK steps may call. Returns only the status of the reply. At most 60 an hour and project. 409 while an operator has held sending. */
  readonly testWebhook = (id: string, body: Body<'POST /workflows/{id}/webhook-test'>, options: CallOptions = {}): Promise<Result<'POST /workflows/{id}/webhook-test'>> =>
    this.call('POST /workflows/{id}/webhook-test', { params: { id }, body }, options)
}

/** All resources of the API. */
export class Resources {
  readonly activity: ActivityApi
  readonly analytics: AnalyticsApi
  readonly auth: AuthApi
  readonly campaigns: CampaignsApi
  readonly config: ConfigApi
  readonly contacts: ContactsApi
  readonly designs: DesignsApi
  readonly doctor: DoctorApi
  readonly domains: DomainsApi
  readonly emails: EmailsApi
  readonly events: EventsApi
  readonly fields: FieldsApi
  readonly health: HealthApi
  readonly invitations: InvitationsApi
  readonly jobs: JobsApi
  readonly linkHosts: LinkHostsApi
  readonly members: MembersApi
  readonly projects: ProjectsApi
  readonly ready: ReadyApi
  readonly sandbox: SandboxApi
  readonly segments: SegmentsApi
  readonly suppressions: SuppressionsApi
  readonly suspensions: SuspensionsApi
  readonly templates: TemplatesApi
  readonly uploads: UploadsApi
  readonly users: UsersApi
  readonly webhookEndpoints: WebhookEndpointsApi
  readonly workflows: WorkflowsApi

  constructor(call: Call) {
    this.activity = new ActivityApi(call)
    this.analytics = new AnalyticsApi(call)
    this.auth = new AuthApi(call)
    this.campaigns = new CampaignsApi(call)
    this.config = new ConfigApi(call)
    this.contacts = new ContactsApi(call)
    this.designs = new DesignsApi(call)
    this.doctor = new DoctorApi(call)
    this.domains = new DomainsApi(call)
    this.emails = new EmailsApi(call)
    this.events = new EventsApi(call)
    this.fields = new FieldsApi(call)
    this.health = new HealthApi(call)
    this.invitations = new InvitationsApi(call)
    this.jobs = new JobsApi(call)
    this.linkHosts = new LinkHostsApi(call)
    this.members = new MembersApi(call)
    this.projects = new ProjectsApi(call)
    this.ready = new ReadyApi(call)
    this.sandbox = new SandboxApi(call)
    this.segments = new SegmentsApi(call)
    this.suppressions = new SuppressionsApi(call)
    this.suspensions = new SuspensionsApi(call)
    this.templates = new TemplatesApi(call)
    this.uploads = new UploadsApi(call)
    this.users = new UsersApi(call)
    this.webhookEndpoints = new WebhookEndpointsApi(call)
    this.workflows = new WorkflowsApi(call)
  }
}
