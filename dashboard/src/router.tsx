import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate } from '@tanstack/react-router'
import { AcceptInvitationPage } from './features/account/accept-invitation.tsx'
import { ForgotPasswordPage } from './features/account/forgot-password.tsx'
import { ResetPasswordPage } from './features/account/reset-password.tsx'
import { SignInPage } from './features/account/sign-in.tsx'
import { SignUpPage } from './features/account/sign-up.tsx'
import { VerifyEmailPage } from './features/account/verify-email.tsx'
import { OpenProjectPage } from './features/onboarding/open-project.tsx'
import { ownPath, parseSearch, type Search, stringifySearch, text } from './search.ts'
import { BrokenPage, NotFoundPage } from './shell/fallbacks.tsx'
import { RequireSession } from './shell/require-session.tsx'

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
const forgotPassword = createRoute({ getParentRoute: top, path: '/forgot-password', component: ForgotPasswordPage })
const resetPassword = createRoute({
  getParentRoute: top,
  path: '/reset-password',
  component: ResetPasswordPage,
  validateSearch: ({ token }: Search) => ({ token: text(token) ?? '' }),
})
const verifyEmail = createRoute({
  getParentRoute: top,
  path: '/verify-email',
  component: VerifyEmailPage,
  validateSearch: ({ token }: Search) => ({ token: text(token) ?? '' }),
})
const acceptInvitation = createRoute({
  getParentRoute: top,
  path: '/accept-invitation',
  component: AcceptInvitationPage,
  validateSearch: ({ token, email }: Search): { token: string; email?: string } => ({ token: text(token) ?? '', email: text(email) }),
})

const app = createRoute({ getParentRoute: top, path: '/app', component: RequireSession })
const openProject = createRoute({ getParentRoute: () => app, path: '/', component: OpenProjectPage })
const createProject = createRoute({
  getParentRoute: () => app,
  path: '/new',
  component: lazyRouteComponent(() => import('./features/onboarding/create-project.tsx'), 'CreateProjectPage'),
})

const project = createRoute({
  getParentRoute: () => app,
  path: '/p/$projectId',
  component: lazyRouteComponent(() => import('./shell/shell.tsx'), 'Shell'),
})
const inProject = () => project

const projectHome = createRoute({
  getParentRoute: inProject,
  path: '/',
  component: () => <Navigate from="/app/p/$projectId" to="/app/p/$projectId/keys" replace />,
})
const keys = createRoute({
  getParentRoute: inProject,
  path: '/keys',
  component: lazyRouteComponent(() => import('./features/keys/keys-page.tsx'), 'KeysPage'),
  validateSearch: ({ created }: Search): { created?: boolean } => ({ created: created === undefined ? undefined : true }),
})
const team = createRoute({
  getParentRoute: inProject,
  path: '/team',
  component: lazyRouteComponent(() => import('./features/team/team-page.tsx'), 'TeamPage'),
})
const settings = createRoute({
  getParentRoute: inProject,
  path: '/settings',
  component: lazyRouteComponent(() => import('./features/settings/settings-page.tsx'), 'SettingsPage'),
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
    app.addChildren([openProject, createProject, project.addChildren([projectHome, keys, team, settings])]),
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
