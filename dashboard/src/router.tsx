import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate } from '@tanstack/react-router'
import { SignInPage } from './features/account/sign-in.tsx'
import { SignUpPage } from './features/account/sign-up.tsx'
import { OpenProjectPage } from './features/onboarding/open-project.tsx'
import { listSearch } from './list/list-search.ts'
import { BrokenPage, NotFoundPage } from './shell/fallbacks.tsx'
import { RequireSession } from './shell/require-session.tsx'
import { ownPath, parseSearch, type Search, stringifySearch, text } from './ui/page/search.ts'

const root = createRootRoute()
const top = () => root

const home = createRoute({ getParentRoute: top, path: '/', component: () => <Navigate to="/app" replace /> })

const signIn = createRoute({
  getParentRoute: top,
  path: '/sign-in',
  component: SignInPage,
  validateSearch: ({ next }: Search): { next?: string } => ({ next: ownPath(next) }),
})
const signUp = createRoute({
  getParentRoute: top,
  path: '/sign-up',
  component: SignUpPage,
  validateSearch: ({ next, invitation, email }: Search): { next?: string; invitation?: string; email?: string } => ({
    next: ownPath(next),
    invitation: text(invitation),
    email: text(email),
  }),
})
const forgotPassword = createRoute({
  getParentRoute: top,
  path: '/forgot-password',
  component: lazyRouteComponent(() => import('./features/account/forgot-password.tsx'), 'ForgotPasswordPage'),
})
const resetPassword = createRoute({
  getParentRoute: top,
  path: '/reset-password',
  component: lazyRouteComponent(() => import('./features/account/reset-password.tsx'), 'ResetPasswordPage'),
  validateSearch: ({ token }: Search) => ({ token: text(token) ?? '' }),
})
const verifyEmail = createRoute({
  getParentRoute: top,
  path: '/verify-email',
  component: lazyRouteComponent(() => import('./features/account/verify-email.tsx'), 'VerifyEmailPage'),
  validateSearch: ({ token }: Search) => ({ token: text(token) ?? '' }),
})
const acceptInvitation = createRoute({
  getParentRoute: top,
  path: '/accept-invitation',
  component: lazyRouteComponent(() => import('./features/account/accept-invitation.tsx'), 'AcceptInvitationPage'),
  validateSearch: ({ token, email }: Search): { token: string; email?: string } => ({ token: text(token) ?? '', email: text(email) }),
})

const app = createRoute({ getParentRoute: top, path: '/app', component: RequireSession })
const openProject = createRoute({ getParentRoute: () => app, path: '/', component: OpenProjectPage })
const createProject = createRoute({
  getParentRoute: () => app,
  path: '/new',
  component: lazyRouteComponent(() => import('./features/onboarding/create-project.tsx'), 'CreateProjectPage'),
})

/** Pages that search in what they have loaded. */
const querySearch = ({ q }: Search): { q?: string } => ({ ...(text(q) && { q: text(q)! }) })

const project = createRoute({
  getParentRoute: () => app,
  path: '/p/$projectId',
  component: lazyRouteComponent(() => import('./shell/shell.tsx'), 'Shell'),
})
const inProject = () => project

const overview = createRoute({
  getParentRoute: inProject,
  path: '/',
  component: lazyRouteComponent(() => import('./features/overview/overview-page.tsx'), 'OverviewPage'),
  validateSearch: ({ days }: Search): { days?: string } => ({ ...(text(days) && { days: text(days)! }) }),
})
const contacts = createRoute({
  getParentRoute: inProject,
  path: '/contacts',
  component: lazyRouteComponent(() => import('./features/contacts/contacts-page.tsx'), 'ContactsPage'),
  validateSearch: listSearch('subscribed', 'created', 'field', 'segment', 'condition'),
})
const fields = createRoute({
  getParentRoute: inProject,
  path: '/contacts/fields',
  component: lazyRouteComponent(() => import('./features/contacts/fields-page.tsx'), 'FieldsPage'),
  validateSearch: querySearch,
})
const importContacts = createRoute({
  getParentRoute: inProject,
  path: '/contacts/import',
  component: lazyRouteComponent(() => import('./features/contacts/import/import-page.tsx'), 'ImportPage'),
  validateSearch: ({ job, segment }: Search): { job?: string; segment?: string } => ({
    ...(text(job) && { job: text(job)! }),
    ...(text(segment) && { segment: text(segment)! }),
  }),
})
const contact = createRoute({
  getParentRoute: inProject,
  path: '/contacts/$contactId',
  component: lazyRouteComponent(() => import('./features/contacts/contact/contact-page.tsx'), 'ContactPage'),
  validateSearch: ({ kind }: Search): { kind?: string } => ({ kind: text(kind) }),
})
const templates = createRoute({
  getParentRoute: inProject,
  path: '/templates',
  component: lazyRouteComponent(() => import('./features/templates/templates-page.tsx'), 'TemplatesPage'),
  validateSearch: listSearch('type', 'workflow'),
})
type PreviewSearch = { as?: string; show?: 'phone' | 'text' | 'source'; dark?: 'on' }
const previewSearch = ({ as, show, dark }: Search): PreviewSearch => ({
  ...(text(as) && { as: text(as)! }),
  ...((show === 'phone' || show === 'text' || show === 'source') && { show }),
  ...(dark === 'on' && { dark }),
})
const campaigns = createRoute({
  getParentRoute: inProject,
  path: '/campaigns',
  component: lazyRouteComponent(() => import('./features/campaigns/campaigns-page.tsx'), 'CampaignsPage'),
  validateSearch: listSearch('status', 'segment', 'date'),
})
const campaign = createRoute({
  getParentRoute: inProject,
  path: '/campaigns/$campaignId',
  component: lazyRouteComponent(() => import('./features/campaigns/campaign-page.tsx'), 'CampaignPage'),
  validateSearch: previewSearch,
})
const campaignRecipients = createRoute({
  getParentRoute: inProject,
  path: '/campaigns/$campaignId/recipients',
  component: lazyRouteComponent(() => import('./features/campaigns/report/recipients-page.tsx'), 'RecipientsPage'),
  validateSearch: listSearch('outcome', 'reason', 'activity', 'link'),
})
const campaignExcluded = createRoute({
  getParentRoute: inProject,
  path: '/campaigns/$campaignId/excluded',
  component: lazyRouteComponent(() => import('./features/campaigns/report/excluded-page.tsx'), 'ExcludedPage'),
  validateSearch: listSearch('reason'),
})
const campaignAudience = createRoute({
  getParentRoute: inProject,
  path: '/campaigns/$campaignId/audience',
  component: lazyRouteComponent(() => import('./features/campaigns/draft/audience-page.tsx'), 'AudiencePage'),
  validateSearch: listSearch('part'),
})
const segments = createRoute({
  getParentRoute: inProject,
  path: '/segments',
  component: lazyRouteComponent(() => import('./features/segments/segments-page.tsx'), 'SegmentsPage'),
  validateSearch: listSearch('kind', 'tracked', 'used'),
})
const segmentNew = createRoute({
  getParentRoute: inProject,
  path: '/segments/new',
  component: lazyRouteComponent(() => import('./features/segments/new-segment-page.tsx'), 'NewSegmentPage'),
  validateSearch: ({ name, example, condition }: Search): { name?: string; example?: string; condition?: string } => ({
    ...(text(name) && { name: text(name)! }),
    ...(text(example) && { example: text(example)! }),
    ...(text(condition) && { condition: text(condition)! }),
  }),
})
const segment = createRoute({
  getParentRoute: inProject,
  path: '/segments/$segmentId',
  component: lazyRouteComponent(() => import('./features/segments/members/members-page.tsx'), 'MembersPage'),
  validateSearch: listSearch('subscribed'),
})
const segmentSettings = createRoute({
  getParentRoute: inProject,
  path: '/segments/$segmentId/settings',
  component: lazyRouteComponent(() => import('./features/segments/settings-page.tsx'), 'SegmentSettingsPage'),
})
const segmentHistory = createRoute({
  getParentRoute: inProject,
  path: '/segments/$segmentId/history',
  component: lazyRouteComponent(() => import('./features/segments/history-page.tsx'), 'HistoryPage'),
  validateSearch: listSearch('type', 'when'),
})
const segmentExplain = createRoute({
  getParentRoute: inProject,
  path: '/segments/$segmentId/explain',
  component: lazyRouteComponent(() => import('./features/segments/explain-page.tsx'), 'ExplainPage'),
  validateSearch: ({ contact }: Search): { contact?: string } => ({ ...(text(contact) && { contact: text(contact)! }) }),
})
type TemplateSearch = PreviewSearch & { tab?: 'versions'; version?: string }
const template = createRoute({
  getParentRoute: inProject,
  path: '/templates/$templateId',
  component: lazyRouteComponent(() => import('./features/templates/template-page.tsx'), 'TemplatePage'),
  validateSearch: ({ tab, version, ...view }: Search): TemplateSearch => ({
    ...(tab === 'versions' && { tab }),
    ...(text(version) && { version: text(version)! }),
    ...previewSearch(view),
  }),
})
const workflows = createRoute({
  getParentRoute: inProject,
  path: '/workflows',
  component: lazyRouteComponent(() => import('./features/workflows/workflows-page.tsx'), 'WorkflowsPage'),
  validateSearch: listSearch('status', 'trigger', 'failed'),
})
const workflowPage = () => import('./features/workflows/workflow-page.tsx')
const workflow = createRoute({
  getParentRoute: inProject,
  path: '/workflows/$workflowId',
  component: lazyRouteComponent(workflowPage, 'WorkflowPage'),
  validateSearch: ({ step, restore }: Search): { step?: string; restore?: number } => ({
    ...(text(step) && { step: text(step)! }),
    ...(Number(restore) > 0 && { restore: Number(restore) }),
  }),
})
const liveWorkflow = createRoute({
  getParentRoute: inProject,
  path: '/workflows/$workflowId/live',
  component: lazyRouteComponent(workflowPage, 'LiveWorkflowPage'),
  validateSearch: ({ execution, person }: Search): { execution?: string; person?: string } => ({
    ...(text(execution) && { execution: text(execution)! }),
    ...(text(person) && { person: text(person)! }),
  }),
})
const workflowVersions = createRoute({
  getParentRoute: inProject,
  path: '/workflows/$workflowId/versions',
  component: lazyRouteComponent(workflowPage, 'WorkflowVersionsPage'),
  validateSearch: ({ version }: Search): { version?: number } => ({ ...(Number(version) > 0 && { version: Number(version) }) }),
})
const executions = createRoute({
  getParentRoute: inProject,
  path: '/workflows/$workflowId/executions',
  component: lazyRouteComponent(workflowPage, 'ExecutionsPage'),
  validateSearch: listSearch('status', 'step', 'person', 'started'),
})
const visits = createRoute({
  getParentRoute: inProject,
  path: '/workflows/$workflowId/steps/$stepId',
  component: lazyRouteComponent(workflowPage, 'VisitsPage'),
  validateSearch: listSearch('outcome', 'next'),
})
const tryWorkflow = createRoute({
  getParentRoute: inProject,
  path: '/workflows/$workflowId/try',
  component: lazyRouteComponent(workflowPage, 'TryWorkflowPage'),
  validateSearch: ({ person }: Search): { person?: string } => ({ ...(text(person) && { person: text(person)! }) }),
})
const workflowSettings = createRoute({
  getParentRoute: inProject,
  path: '/workflows/$workflowId/settings',
  component: lazyRouteComponent(workflowPage, 'WorkflowSettingsPage'),
})
const emails = createRoute({
  getParentRoute: inProject,
  path: '/emails',
  component: lazyRouteComponent(() => import('./features/emails/emails-page.tsx'), 'EmailsPage'),
  validateSearch: listSearch('scheduled', 'status', 'source', 'domain', 'campaign', 'created', 'template', 'fact', 'when'),
})
const email = createRoute({
  getParentRoute: inProject,
  path: '/emails/$emailId',
  component: lazyRouteComponent(() => import('./features/emails/email-page.tsx'), 'EmailPage'),
  validateSearch: ({ tab }: Search): { tab?: string } => ({ tab: text(tab) }),
})
const events = createRoute({
  getParentRoute: inProject,
  path: '/events',
  component: lazyRouteComponent(() => import('./features/events/events-page.tsx'), 'EventsPage'),
  validateSearch: listSearch('event'),
})
const activity = createRoute({
  getParentRoute: inProject,
  path: '/activity',
  component: lazyRouteComponent(() => import('./features/activity/activity-page.tsx'), 'ActivityPage'),
  validateSearch: listSearch('kind', 'person', 'time'),
})
const ANALYTICS_SEARCH = ['days', 'source', 'tab', 'by'] as const
type AnalyticsSearch = { [Name in (typeof ANALYTICS_SEARCH)[number]]?: string }
const analytics = createRoute({
  getParentRoute: inProject,
  path: '/analytics',
  component: lazyRouteComponent(() => import('./features/analytics/analytics-page.tsx'), 'AnalyticsPage'),
  validateSearch: (search: Search): AnalyticsSearch =>
    Object.fromEntries(ANALYTICS_SEARCH.flatMap((name) => (text(search[name]) ? [[name, text(search[name])]] : []))),
})
const doctor = createRoute({
  getParentRoute: inProject,
  path: '/doctor',
  component: lazyRouteComponent(() => import('./features/doctor/doctor-page.tsx'), 'DoctorPage'),
})
const domains = createRoute({
  getParentRoute: inProject,
  path: '/domains',
  component: lazyRouteComponent(() => import('./features/domains/domains-page.tsx'), 'DomainsPage'),
  validateSearch: querySearch,
})
const suppressions = createRoute({
  getParentRoute: inProject,
  path: '/suppressions',
  component: lazyRouteComponent(() => import('./features/suppressions/suppressions-page.tsx'), 'SuppressionsPage'),
  validateSearch: listSearch('reason'),
})
const webhooks = createRoute({
  getParentRoute: inProject,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./features/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})
const webhookEndpoint = createRoute({
  getParentRoute: inProject,
  path: '/webhooks/$endpointId',
  component: lazyRouteComponent(() => import('./features/webhooks/endpoint-page.tsx'), 'EndpointPage'),
  validateSearch: listSearch('status', 'type'),
})
const sandbox = createRoute({
  getParentRoute: inProject,
  path: '/sandbox',
  component: lazyRouteComponent(() => import('./features/sandbox/sandbox-page.tsx'), 'SandboxPage'),
  validateSearch: listSearch('tab'),
})

const settings = createRoute({
  getParentRoute: inProject,
  path: '/settings',
  component: lazyRouteComponent(() => import('./shell/settings-layout.tsx'), 'SettingsLayout'),
})
const general = createRoute({
  getParentRoute: () => settings,
  path: '/',
  component: lazyRouteComponent(() => import('./features/settings/settings-page.tsx'), 'SettingsPage'),
})
const tracking = createRoute({
  getParentRoute: () => settings,
  path: '/tracking',
  component: lazyRouteComponent(() => import('./features/settings/tracking-page.tsx'), 'TrackingPage'),
})
const brand = createRoute({
  getParentRoute: () => settings,
  path: '/brand',
  component: lazyRouteComponent(() => import('./features/settings/brand-page.tsx'), 'BrandPage'),
})
const sessions = createRoute({
  getParentRoute: () => settings,
  path: '/sessions',
  component: lazyRouteComponent(() => import('./features/settings/sessions-page.tsx'), 'SessionsPage'),
})
const keys = createRoute({
  getParentRoute: () => settings,
  path: '/keys',
  component: lazyRouteComponent(() => import('./features/keys/keys-page.tsx'), 'KeysPage'),
})
const smtp = createRoute({
  getParentRoute: () => settings,
  path: '/smtp',
  component: lazyRouteComponent(() => import('./features/keys/smtp-page.tsx'), 'SmtpPage'),
})
const billing = createRoute({
  getParentRoute: () => settings,
  path: '/billing',
  component: lazyRouteComponent(() => import('./features/billing/billing-page.tsx'), 'BillingPage'),
})
const security = createRoute({
  getParentRoute: () => settings,
  path: '/security',
  component: lazyRouteComponent(() => import('./features/security/security-page.tsx'), 'SecurityPage'),
})
const audit = createRoute({
  getParentRoute: () => settings,
  path: '/audit',
  validateSearch: listSearch('action', 'actor'),
  component: lazyRouteComponent(() => import('./features/audit/audit-page.tsx'), 'AuditPage'),
})
const team = createRoute({
  getParentRoute: () => settings,
  path: '/team',
  component: lazyRouteComponent(() => import('./features/team/team-page.tsx'), 'TeamPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    signIn,
    signUp,
    forgotPassword,
    resetPassword,
    verifyEmail,
    acceptInvitation,
    app.addChildren([
      openProject,
      createProject,
      project.addChildren([
        overview,
        contacts,
        fields,
        importContacts,
        contact,
        segments,
        segmentNew,
        segment,
        segmentSettings,
        segmentHistory,
        segmentExplain,
        campaigns,
        campaign,
        campaignRecipients,
        campaignExcluded,
        campaignAudience,
        templates,
        template,
        workflows,
        workflow,
        executions,
        visits,
        tryWorkflow,
        liveWorkflow,
        workflowVersions,
        workflowSettings,
        emails,
        email,
        events,
        activity,
        analytics,
        doctor,
        domains,
        suppressions,
        webhooks,
        webhookEndpoint,
        sandbox,
        settings.addChildren([general, brand, tracking, keys, smtp, team, billing, security, audit, sessions]),
      ]),
    ]),
  ]),
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultNotFoundComponent: NotFoundPage,
  defaultErrorComponent: BrokenPage,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
