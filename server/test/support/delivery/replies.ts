/** Replies of real servers for an unknown recipient `bob@example.com`. */
export const GENUINE_REPLIES = [
  // Gmail, Google Workspace
  "550-5.1.1 The email account that you tried to reach does not exist. Please try\n550-5.1.1 double-checking the recipient's email address for typos or\n550-5.1.1 unnecessary spaces. For more information, go to\n550 5.1.1  https://support.google.com/mail/?p=NoSuchUser d9443c01a7336-1dd7dd5c4ecsor1234567ad.12 - gsmtp",
  "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n550-5.1.1 double-checking the recipient's email address for typos or\r\n550 5.1.1 unnecessary spaces. Learn more at https://support.google.com/mail/?p=NoSuchUser x1-si1 - gsmtp",
  // Exchange Online, Exchange, Outlook.com
  '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient bob@example.com not found by SMTP address lookup',
  '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup [DB5EUR03FT023.eop-EUR03.prod.protection.outlook.com 2026-11-19T10:00:00.000Z 08DC0A1B2C3D4E5F]',
  '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB5EUR03FT023.eop-EUR03.prod.protection.outlook.com 2026-11-19T10:00:00.000Z 08DC0A1B2C3D4E5F]',
  '550 5.4.1 Recipient address rejected: Access denied. For more information see https://aka.ms/EXOSmtpErrors [BN8NAM11FT012.eop-nam11.prod.protection.outlook.com]',
  '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [DB5EUR03FT001.eop-EUR03.prod.protection.outlook.com]',
  '550 5.1.1 RESOLVER.ADR.RecipNotFound; not found',
  '550 5.1.1 User unknown',
  '550 5.1.351 Remote server returned unknown recipient or mailbox unavailable -> 550 5.1.1 User unknown',
  // Postfix
  '550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in local recipient table',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in virtual mailbox table',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in virtual alias table',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in relay recipient table',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: undeliverable address: host mx1.example.com[192.0.2.1] said: 550 5.1.1 <bob@example.com> User unknown (in reply to RCPT TO command)',
  '554 5.1.1 unknown user: "bob"',
  '550 5.1.2 <bob@example.com>: Recipient address rejected: Domain not found',
  // Exim
  '550 Unknown user',
  '550 No such user here',
  '550 No Such User Here"',
  '550 Unrouteable address',
  '550-No such person at this address.\n550 Unrouteable address',
  '550 unknown local part "bob" in <bob@example.com>',
  // Sendmail
  '550 5.1.1 <bob@example.com>... User unknown',
  '553 <bob@example.com>... No such user here',
  '550 5.1.1 bob... User unknown',
  // qmail
  '550 sorry, no mailbox here by that name (#5.1.1)',
  '511 sorry, no mailbox here by that name (#5.1.1 - chkuser)',
  '553 sorry, no such user here (#5.1.1)',
  // Courier, Cyrus, Dovecot, Haraka, OpenSMTPD
  '550 User unknown.',
  '550 User <bob@example.com> unknown',
  '550-Mailbox unknown.  Either there is no mailbox associated with this\n550-name or you do not have authorization to see it.\n550 5.1.1 User unknown',
  "550 5.1.1 <bob@example.com> User doesn't exist: bob@example.com",
  '550 I cannot deliver mail for <bob@example.com>',
  '550 Invalid recipient: <bob@example.com>',
  // Yahoo, AOL
  "554 delivery error: dd This user doesn't have a yahoo.com account (bob@yahoo.com) [0] - mta4001.mail.ne1.yahoo.com",
  '552 1 Requested mail action aborted, mailbox not found',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: User is unknown',
  // iCloud, Zoho, Proton, Fastmail
  '550 5.1.1 <bob@example.com>: user does not exist',
  '550 5.1.1 User does not exist - <bob@example.com>',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: Address does not exist',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in virtual alias table',
  // GMX, web.de, T-Online
  '550-Requested action not taken: mailbox unavailable\n550 For explanation visit https://postmaster.gmx.net/en/error-messages?ip=192.0.2.1&c=rcpt',
  '550 Requested action not taken: mailbox unavailable',
  '550 user unknown',
  // Orange
  '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]',
  // mail.ru, Yandex, QQ, 163, Naver
  '550 Message was not accepted -- invalid mailbox.  Local mailbox bob@example.com is unavailable: user not found',
  '550 5.7.1 No such user!',
  '550 5.7.1 No such user! 1700000000-x1Y2z3',
  '550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000728',
  '550 The recipient may contain a non-existent account, please check the recipient address.',
  '550 User not found: bob@example.com',
  '550 5.1.1 No such user - nsmtp',
  // Mimecast, Proofpoint, Barracuda, Cisco
  '550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 [aBcDeF12-34]',
  '550 5.1.1 User Unknown',
  '550 permanent failure for one or more recipients (bob@example.com:550 5.1.1 User unknown)',
  '550 No such user (bob@example.com)',
  '550 #5.1.0 Address rejected. Unknown address',
  // WorkMail, Zimbra, MDaemon, Domino, GroupWise
  '550 5.1.1 Requested action not taken: mailbox unavailable [inbound-smtp.eu-west-1.amazonaws.com]',
  '550 <bob@example.com>, Recipient unknown',
  '550 bob@example.com... No such user',
  "550 'bob@example.com' User not listed in Domino Directory",
  '550 5.1.1 Mailbox does not exist',
  '550 Account not found',
]

/** Refusals of us, in words of their own, most of them with the code of an unknown mailbox. */
export const REFUSALS_OF_US = [
  // English
  '550 5.1.1 No such user: trial period has ended',
  '550 User unknown: subscription plan expired',
  '550 Recipient not found, tenant contract terminated',
  '554 5.1.1 unknown recipient (licence expired, contact billing)',
  '550 5.1.10 RESOLVER.ADR.RecipientNotFound; connector disabled by administrator',
  '550 mailbox unavailable: sandbox mode, recipient not verified',
  '550 5.1.1 User unknown - prepaid volume used',
  '550 5.1.1 Recipient unknown while payment is overdue',
  '550 No such user; onboarding incomplete',
  '550 5.1.1 mailbox not found (maintenance until Monday)',
  '550 5.1.1 <bob@example.com>: user unknown; evaluation copy',
  '550 5.1.1 unknown user, upgrade to deliver outside the test group',
  '550 5.1.1 Account not found: invoice 2026-11 is open',
  // German
  '550 5.1.1 Mandant gesperrt, Vertrag beendet',
  '550 Unbekannter Benutzer: Zahlungsverzug',
  '550 5.1.1 Mailbox unknown: Testzeitraum abgelaufen',
  '550 5.1.1 Kein solches Postfach, Lizenz ungültig',
  '550 User unknown (Kontingent aufgebraucht)',
  '550 5.1.1 No such user: Kundenkonto ruht',
  '554 5.1.1 Empfänger unbekannt, Freischaltung fehlt',
  // French
  "550 5.1.1 Destinataire inconnu : période d'essai terminée",
  '550 Utilisateur inconnu, abonnement suspendu',
  '550 5.1.1 User unknown: compte en attente de validation',
  '550 5.1.1 mailbox unavailable, facture impayée',
  '554 5.1.1 No such user, forfait épuisé',
  '550 5.1.1 Adresse refusée, service coupé',
  // Spanish
  '550 5.1.1 Usuario desconocido: contrato vencido',
  '550 User unknown, prueba gratuita finalizada',
  '550 5.1.1 No such mailbox: cuenta sin saldo',
  '550 5.1.1 Destinatario no encontrado, plan caducado',
  '554 5.1.1 Buzón inexistente (licencia agotada)',
  '550 recipient not found: servicio suspendido',
  // Italian
  '550 5.1.1 Utente sconosciuto: abbonamento scaduto',
  '550 User unknown, prova terminata',
  '550 5.1.1 Destinatario inesistente, pagamento mancante',
  '554 5.1.1 No such user: contratto cessato',
  '550 mailbox unavailable (casella in attesa di attivazione)',
  // Polish, Dutch, Japanese
  '550 5.1.1 User unknown: okres próbny minął',
  '550 5.1.1 No such user, abonnement verlopen',
  '550 5.1.1 User unknown: 契約終了',
]
