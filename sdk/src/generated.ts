// Generated from docs/openapi.json by `npm run openapi`. Do not edit.

/** Every error, but for the few endpoints that answer a plain `{ error }`. */
export type Error = {
  success: false
  error: {
    code:
      | 'BAD_REQUEST'
      | 'INVALID_TOKEN'
      | 'MISSING_AUTH'
      | 'INVALID_API_KEY'
      | 'UNAUTHORIZED'
      | 'INVALID_CREDENTIALS'
      | 'FORBIDDEN'
      | 'PROJECT_ACCESS_DENIED'
      | 'PROJECT_DISABLED'
      | 'RESOURCE_NOT_FOUND'
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

export type Invitation = {
  id: string
  email: string
  role: 'ADMIN' | 'MEMBER'
  createdAt: string
  expiresAt: string
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
  /** Public key; only owners and admins see it. */
  public: string | null
  /** Secret key; only owners and admins see it. */
  secret: string | null
  /** Your role in this project. */
  role: 'OWNER' | 'ADMIN' | 'MEMBER'
  disabled: boolean
  disabledReason: string | null
  tracking: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
  language: 'en' | 'de' | 'fr' | 'es' | 'it' | 'nl' | 'pt' | 'pl' | 'ja' | 'zh'
  customer: string | null
  subscription: string | null
  billingLimitWorkflows: number | null
  billingLimitCampaigns: number | null
  billingLimitTransactional: number | null
  billingLimitInbound: number | null
  createdAt: string
  updatedAt: string
}

export type User = {
  id: string
  email: string
  emailVerified: boolean
  createdAt: string
}

/** Every endpoint: what it takes and what its 2xx answer holds. */
export interface Operations {
  /** Join a project by the mailed token */
  'POST /auth/accept-invitation': {
    params: undefined
    query: undefined
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
   * Signs every other session out.
   */
  'POST /auth/change-password': {
    params: undefined
    query: undefined
    body: {
      currentPassword: string
      password: string
    }
    response: {
      success: true
    }
  }

  /** Sign in */
  'POST /auth/login': {
    params: undefined
    query: undefined
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
    body: undefined
    response: {
      success: true
    }
  }

  /** Configured OAuth providers */
  'GET /auth/oauth-config': {
    params: undefined
    query: undefined
    body: undefined
    response: {
      github: boolean
      google: boolean
      oidc: boolean
    }
  }

  /**
   * Mail a reset link
   *
   * Answers the same whether or not the address has an account.
   */
  'POST /auth/request-password-reset': {
    params: undefined
    query: undefined
    body: {
      email: string
    }
    response: {
      success: true
    }
  }

  /** Mail the verification link again */
  'POST /auth/request-verification': {
    params: undefined
    query: undefined
    body: undefined
    response: {
      success: true
    }
  }

  /** Choose a new password by the mailed token */
  'POST /auth/reset-password': {
    params: undefined
    query: undefined
    body: {
      token: string
      password: string
    }
    response: {
      success: true
    }
  }

  /** Create an account and sign in */
  'POST /auth/signup': {
    params: undefined
    query: undefined
    body: {
      email: string
      password: string
      invitation?: string
    }
    response: {
      success: true
      id: string
      email: string
    }
  }

  /** Prove an address by the mailed token */
  'POST /auth/verify-email': {
    params: undefined
    query: undefined
    body: {
      token: string
    }
    response: {
      success: true
    }
  }

  /** Which integrations are enabled */
  'GET /config': {
    params: undefined
    query: undefined
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
        }
        email: {
          transport: 'sandbox' | 'smtp' | 'ses'
          sandbox: boolean
        }
        smtp: {
          enabled: boolean
        }
      }
    }
  }

  /** Is the process alive? */
  'GET /health': {
    params: undefined
    query: undefined
    body: undefined
    response: {
      status: 'ok'
      role: string
      uptime: number
    }
  }

  /** List open invitations */
  'GET /projects/{id}/invitations': {
    params: {
      id: string
    }
    query: undefined
    body: undefined
    response: Invitation[]
  }

  /** Withdraw an invitation */
  'DELETE /projects/{id}/invitations/{invitationId}': {
    params: {
      id: string
      invitationId: string
    }
    query: undefined
    body: undefined
    response: undefined
  }

  /** List members */
  'GET /projects/{id}/members': {
    params: {
      id: string
    }
    query: undefined
    body: undefined
    response: Member[]
  }

  /** Invite someone */
  'POST /projects/{id}/members': {
    params: {
      id: string
    }
    query: undefined
    body: {
      email: string
      role: 'ADMIN' | 'MEMBER'
    }
    response: {
      userId: string | null
      email: string
      role: 'OWNER' | 'ADMIN' | 'MEMBER'
      /** INVITED: the address has no verified account yet and got a mail. */
      status: 'MEMBER' | 'INVITED'
      createdAt: string
    }
  }

  /** Change a role */
  'PATCH /projects/{id}/members/{userId}': {
    params: {
      id: string
      userId: string
    }
    query: undefined
    body: {
      role: 'ADMIN' | 'MEMBER'
    }
    response: Member
  }

  /** Remove a member, or leave */
  'DELETE /projects/{id}/members/{userId}': {
    params: {
      id: string
      userId: string
    }
    query: undefined
    body: undefined
    response: undefined
  }

  /** What is set up already */
  'GET /projects/{id}/setup-state': {
    params: {
      id: string
    }
    query: undefined
    body: undefined
    response: {
      hasVerifiedDomain: boolean
      contactCount: number
      lastCampaignSentAt: string | null
      hasEnabledWorkflow: boolean
      hasSubscription: boolean
      hasSentEmail: boolean
    }
  }

  /** Should it get traffic? */
  'GET /ready': {
    params: undefined
    query: undefined
    body: undefined
    response: {
      status: 'ok'
      checks: {
        accepting: boolean
        database: boolean
        migrations: boolean
        disk: boolean
      }
    }
  }

  /** Who you are */
  'GET /users/@me': {
    params: undefined
    query: undefined
    body: undefined
    response: User
  }

  /** Your projects */
  'GET /users/@me/projects': {
    params: undefined
    query: undefined
    body: undefined
    response: Project[]
  }

  /** Create a project */
  'POST /users/@me/projects': {
    params: undefined
    query: undefined
    body: {
      name: string
    }
    response: Project
  }

  /** Change settings */
  'PATCH /users/@me/projects/{id}': {
    params: {
      id: string
    }
    query: undefined
    body: {
      name?: string
      tracking?: 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
      language?: 'en' | 'de' | 'fr' | 'es' | 'it' | 'nl' | 'pt' | 'pl' | 'ja' | 'zh'
    }
    response: Project
  }

  /** Delete a project */
  'DELETE /users/@me/projects/{id}': {
    params: {
      id: string
    }
    query: undefined
    body: undefined
    response: undefined
  }

  /**
   * Replace both API keys
   *
   * The old pair stops working the moment this answers, on every node.
   */
  'POST /users/@me/projects/{id}/regenerate-keys': {
    params: {
      id: string
    }
    query: undefined
    body: undefined
    response: Project
  }

  /**
   * Wipe all data of a project
   *
   * Irreversible. Keeps domains, members and keys.
   */
  'POST /users/@me/projects/{id}/reset': {
    params: {
      id: string
    }
    query: undefined
    body: undefined
    response: {
      success: true
      message: string
    }
  }
}
